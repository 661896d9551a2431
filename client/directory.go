package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Organization is a tenant, with the bus on which its agents' events appear.
type Organization struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	Verified     bool      `json:"verified"`
	Suspended    bool      `json:"suspended"`
	AWSAccountID string    `json:"aws_account_id"`
	LegacyEvents bool      `json:"legacy_events"`
	EventBus     EventBus  `json:"event_bus"`
	CreatedAt    time.Time `json:"created_at"`
	// Key is the first admin key, with its secret: only in the answer that made the organization.
	Key Key `json:"key"`
}

// EventBus is an organization's EventBridge bus. Status is "pending" while the account has no room for it.
type EventBus struct {
	Name   string `json:"name"`
	ARN    string `json:"arn"`
	Status string `json:"status"`
}

// NewOrganization is what an organization starts with.
type NewOrganization struct {
	Name         string `json:"name"`
	Verified     bool   `json:"verified,omitempty"`
	AWSAccountID string `json:"aws_account_id,omitempty"` // may put rules for itself on the bus
	LegacyEvents bool   `json:"legacy_events,omitempty"`  // wants a2a.task.updated too
}

// CreateOrganization makes a tenant, with its bus and first admin key. For the operator.
func (c *Client) CreateOrganization(ctx context.Context, o NewOrganization) (Organization, error) {
	return answer[Organization](ctx, c, call{method: http.MethodPost, path: "/v1/organizations", body: o, making: true})
}

// Organization reads a tenant.
func (c *Client) Organization(ctx context.Context, id string) (Organization, error) {
	return answer[Organization](ctx, c, call{method: http.MethodGet, path: path("/v1/organizations/{}", id)})
}

// OrganizationPatch is what to change of an organization; nil fields stay.
type OrganizationPatch struct {
	Name         *string `json:"name,omitempty"`
	Verified     *bool   `json:"verified,omitempty"` // for the operator
	AWSAccountID *string `json:"aws_account_id,omitempty"`
	LegacyEvents *bool   `json:"legacy_events,omitempty"`
}

// UpdateOrganization changes a tenant.
func (c *Client) UpdateOrganization(ctx context.Context, id string, p OrganizationPatch) (Organization, error) {
	return answer[Organization](ctx, c, call{method: http.MethodPatch, path: path("/v1/organizations/{}", id), body: p})
}

// Identity is an agent.
type Identity struct {
	ID                  string    `json:"id"`
	OrganizationID      string    `json:"organization_id"`
	Handle              string    `json:"handle"`
	DisplayName         string    `json:"display_name"`
	Description         string    `json:"description"`
	A2AEnabled          bool      `json:"a2a_enabled"`
	Discoverable        bool      `json:"discoverable"`
	DeduplicateMessages bool      `json:"deduplicate_messages"`
	Skills              []Skill   `json:"skills"`
	CreatedAt           time.Time `json:"created_at"`
}

// Skill is one thing that an agent says it can do.
type Skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Examples    []string `json:"examples,omitempty"`
}

// IdentityFields is what to set of an agent; nil fields stay as they are, or as new identities have them.
type IdentityFields struct {
	Handle              *string `json:"handle,omitempty"`
	DisplayName         *string `json:"display_name,omitempty"`
	Description         *string `json:"description,omitempty"`
	A2AEnabled          *bool   `json:"a2a_enabled,omitempty"`
	Discoverable        *bool   `json:"discoverable,omitempty"`
	DeduplicateMessages *bool   `json:"deduplicate_messages,omitempty"`
	Skills              []Skill `json:"skills,omitempty"`
}

// CreateIdentity makes an agent in the caller's organization; Handle is needed.
func (c *Client) CreateIdentity(ctx context.Context, f IdentityFields) (Identity, error) {
	return answer[Identity](ctx, c, call{method: http.MethodPost, path: "/v1/identities", body: f, making: true})
}

// Identity reads an agent, by handle or id.
func (c *Client) Identity(ctx context.Context, agent string) (Identity, error) {
	return answer[Identity](ctx, c, call{method: http.MethodGet, path: path("/v1/identities/{}", agent)})
}

// Identities walks the organization's agents. It ends after the first error.
func (c *Client) Identities(ctx context.Context) iter.Seq2[Identity, error] {
	return pages[Identity](ctx, c, "/v1/identities", url.Values{})
}

// UpdateIdentity changes an agent, by handle or id.
func (c *Client) UpdateIdentity(ctx context.Context, agent string, f IdentityFields) (Identity, error) {
	return answer[Identity](ctx, c, call{method: http.MethodPatch, path: path("/v1/identities/{}", agent), body: f})
}

// DeleteIdentity removes an agent, by handle or id; its open tasks end.
func (c *Client) DeleteIdentity(ctx context.Context, agent string) error {
	_, _, err := c.do(ctx, call{method: http.MethodDelete, path: path("/v1/identities/{}", agent)}, nil)
	return err
}

// Key is a key's description. Secret is the key itself: only in the answer that made it.
type Key struct {
	ID         string    `json:"id"`
	Kind       string    `json:"kind"`
	Role       string    `json:"role"`        // of an organization's key: admin, member or viewer
	IdentityID string    `json:"identity_id"` // of an agent's key
	Secret     string    `json:"secret"`
	CreatedAt  time.Time `json:"created_at"`
	ExpiresAt  time.Time `json:"expires_at"` // zero when it doesn't
	LastUsedAt time.Time `json:"last_used_at"`
}

// NewKey says which key to make: Identity for an agent's, Role for the organization's own.
type NewKey struct {
	Identity  string     `json:"identity,omitempty"` // handle or id
	Role      string     `json:"role,omitempty"`     // admin, member or viewer
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// CreateKey makes a key.
func (c *Client) CreateKey(ctx context.Context, k NewKey) (Key, error) {
	return answer[Key](ctx, c, call{method: http.MethodPost, path: "/v1/keys", body: k, making: true})
}

// Keys walks the organization's keys. It ends after the first error.
func (c *Client) Keys(ctx context.Context) iter.Seq2[Key, error] {
	return pages[Key](ctx, c, "/v1/keys", url.Values{})
}

// RevokeKey ends a key; the service may accept it for 30 s more.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	_, _, err := c.do(ctx, call{method: http.MethodDelete, path: path("/v1/keys/{}", id)}, nil)
	return err
}

func answer[T any](ctx context.Context, c *Client, do call) (T, error) {
	var out T
	_, _, err := c.do(ctx, do, &out)
	return out, err
}
