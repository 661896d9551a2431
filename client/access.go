package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Connection joins two agents of different organizations, so that each may send to the other.
type Connection struct {
	ID        string    `json:"id"`
	Requester Party     `json:"requester"`
	Target    Party     `json:"target"`
	State     string    `json:"state"` // pending, approved, declined or revoked
	Note      string    `json:"note"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Connect asks another agent for a connection, or returns the one that is open or approved already.
func (c *Client) Connect(ctx context.Context, handle, note string) (Connection, error) {
	body := struct {
		Handle string `json:"target_handle"`
		Note   string `json:"note,omitempty"`
	}{handle, note}
	return answer[Connection](ctx, c, call{method: http.MethodPost, path: "/v1/a2a/connections", body: body})
}

// Connections walks the caller's connections; direction and state may be empty. It ends after the first error.
func (c *Client) Connections(ctx context.Context, direction Direction, state string) iter.Seq2[Connection, error] {
	q := url.Values{}
	if direction != "" {
		q.Set("direction", string(direction))
	}
	if state != "" {
		q.Set("state", state)
	}
	return pages[Connection](ctx, c, "/v1/a2a/connections", q)
}

// ApproveConnection lets a requested connection stand; for the agent that was asked.
func (c *Client) ApproveConnection(ctx context.Context, id string) (Connection, error) {
	return c.moveConnection(ctx, id, "approve")
}

// DeclineConnection refuses a requested connection; for the agent that was asked.
func (c *Client) DeclineConnection(ctx context.Context, id string) (Connection, error) {
	return c.moveConnection(ctx, id, "decline")
}

// RevokeConnection ends a connection, by either side: no new tasks; open ones go on.
func (c *Client) RevokeConnection(ctx context.Context, id string) (Connection, error) {
	return c.moveConnection(ctx, id, "revoke")
}

func (c *Client) moveConnection(ctx context.Context, id, to string) (Connection, error) {
	return answer[Connection](ctx, c, call{method: http.MethodPost, path: path("/v1/a2a/connections/{}/"+to, id)})
}

// Rule lets requesters send, or keeps them from it: exactly one of OrganizationID, Handle and Verified says which.
type Rule struct {
	Effect         string `json:"effect"` // allow or deny; a deny beats all but the same organization
	OrganizationID string `json:"organization_id,omitempty"`
	Handle         string `json:"handle,omitempty"`
	Verified       *bool  `json:"verified,omitempty"`
}

type ruleList struct {
	Rules []Rule `json:"rules"`
}

// Access returns an agent's rules.
func (c *Client) Access(ctx context.Context, agent string) ([]Rule, error) {
	list, err := answer[ruleList](ctx, c, call{method: http.MethodGet, path: path("/v1/identities/{}/a2a/access", agent)})
	return list.Rules, err
}

// SetAccess replaces an agent's rules, up to 100.
func (c *Client) SetAccess(ctx context.Context, agent string, rules []Rule) ([]Rule, error) {
	body := ruleList{append([]Rule{}, rules...)} // none are [], not null
	list, err := answer[ruleList](ctx, c, call{method: http.MethodPut, path: path("/v1/identities/{}/a2a/access", agent), body: body})
	return list.Rules, err
}

// Found is a discoverable agent.
type Found struct {
	IdentityID   string `json:"identity_id"`
	Handle       string `json:"handle"`
	DisplayName  string `json:"display_name"`
	Description  string `json:"description"`
	Organization struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Verified bool   `json:"verified"`
	} `json:"organization"`
	Skills  []Skill `json:"skills"`
	CardURL string  `json:"card_url"` // of its A2A card; empty while the service has none
}

// Discover walks the discoverable agents of all organizations; query may be empty. It ends after the first error.
func (c *Client) Discover(ctx context.Context, query string) iter.Seq2[Found, error] {
	q := url.Values{}
	if query != "" {
		q.Set("q", query)
	}
	return pages[Found](ctx, c, "/v1/discover", q)
}
