package httpapi

import (
	"time"

	"baton/internal/directory"
	"baton/internal/task"
)

type organizationWire struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Verified     bool          `json:"verified"`
	Suspended    bool          `json:"suspended"`
	AWSAccountID *string       `json:"aws_account_id"`
	LegacyEvents bool          `json:"legacy_events"`
	EventBus     busWire       `json:"event_bus"`
	CreatedAt    string        `json:"created_at"`
	Key          *firstKeyWire `json:"key,omitempty"` // told once, when the organization is made
}

type busWire struct {
	Name   string  `json:"name"`
	ARN    *string `json:"arn"` // null while pending
	Status string  `json:"status"`
}

type firstKeyWire struct {
	ID     string `json:"id"`
	Role   string `json:"role"`
	Secret string `json:"secret,omitempty"` // empty a day after
}

func organizationOf(o directory.Organization) *organizationWire {
	return &organizationWire{
		ID: o.ID.String(), Name: o.Name, Verified: o.Verified, Suspended: o.Suspended,
		AWSAccountID: stringOrNull(o.AWSAccountID), LegacyEvents: o.LegacyEvents,
		EventBus:  busWire{o.Bus.Name, stringOrNull(o.Bus.ARN), string(o.Bus.Status)},
		CreatedAt: timestamp(o.CreatedAt),
	}
}

type identityWire struct {
	ID                  string      `json:"id"`
	OrganizationID      string      `json:"organization_id"`
	Handle              string      `json:"handle"`
	DisplayName         string      `json:"display_name"`
	Description         string      `json:"description"`
	A2AEnabled          bool        `json:"a2a_enabled"`
	Discoverable        bool        `json:"discoverable"`
	DeduplicateMessages bool        `json:"deduplicate_messages"`
	Skills              []skillWire `json:"skills"`
	CreatedAt           string      `json:"created_at"`
	UpdatedAt           string      `json:"updated_at"`
}

type skillWire struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples"`
}

func identityOf(i directory.Identity) *identityWire {
	return &identityWire{
		ID: i.ID.String(), OrganizationID: i.Organization.ID.String(), Handle: i.Handle,
		DisplayName: i.DisplayName, Description: i.Description, A2AEnabled: i.A2AEnabled, Discoverable: i.Discoverable,
		DeduplicateMessages: i.DeduplicateMessages, Skills: skillsOf(i.Skills),
		CreatedAt: timestamp(i.CreatedAt), UpdatedAt: timestamp(i.UpdatedAt),
	}
}

func skillsOf(skills []directory.Skill) []skillWire {
	wire := make([]skillWire, len(skills))
	for n, s := range skills {
		wire[n] = skillWire{s.ID, s.Name, s.Description, orEmpty(s.Tags), orEmpty(s.Examples)}
	}
	return wire
}

type keyWire struct {
	ID         string  `json:"id"`
	Kind       string  `json:"kind"`
	IdentityID *string `json:"identity_id"` // of an agent's key
	Role       *string `json:"role"`        // of an organization's key
	Prefix     string  `json:"prefix"`      // how the secret begins
	CreatedAt  string  `json:"created_at"`
	ExpiresAt  *string `json:"expires_at"`
	RevokedAt  *string `json:"revoked_at"`
	LastUsedAt *string `json:"last_used_at"`
	Secret     string  `json:"secret,omitempty"` // told once, when the key is made
}

func keyOf(k directory.Key) *keyWire {
	return &keyWire{
		ID: k.KeyID.String(), Kind: string(k.Kind), IdentityID: stringOrNull(some(k.Identity)), Role: stringOrNull(string(k.Role)),
		Prefix: k.Hint, CreatedAt: timestamp(k.CreatedAt), ExpiresAt: timestampOrNull(k.ExpiresAt),
		RevokedAt: timestampOrNull(k.RevokedAt), LastUsedAt: timestampOrNull(k.LastUsedAt),
	}
}

type connectionWire struct {
	ID        string    `json:"id"`
	Requester partyWire `json:"requester"`
	Target    partyWire `json:"target"`
	State     string    `json:"state"`
	Note      *string   `json:"note"`
	CreatedAt string    `json:"created_at"`
	UpdatedAt string    `json:"updated_at"`
}

func connectionOf(c directory.Connection) *connectionWire {
	return &connectionWire{
		ID: c.ID.String(), Requester: partyOf(c.Requester), Target: partyOf(c.Target), State: string(c.State),
		Note: stringOrNull(c.Note), CreatedAt: timestamp(c.CreatedAt), UpdatedAt: timestamp(c.UpdatedAt),
	}
}

type ruleWire struct {
	Effect       string  `json:"effect"`
	Organization *string `json:"organization_id,omitempty"`
	Handle       *string `json:"handle,omitempty"`
	Verified     *bool   `json:"verified,omitempty"`
}

type rulesWire struct {
	Rules []ruleWire `json:"rules"`
}

func rulesOf(rules []directory.Rule) *rulesWire {
	wire := make([]ruleWire, len(rules))
	for n, r := range rules {
		wire[n] = ruleWire{string(r.Effect), stringOrNull(some(r.Organization)), stringOrNull(r.Handle), r.Verified}
	}
	return &rulesWire{wire}
}

func stringOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// pageOf makes a page of a list of the directory, whose positions are ids.
func pageOf[T, W any](c *call, items []T, last task.ID, list string, wire func(T) *W) answer {
	page := &pageWire[*W]{Items: make([]*W, len(items))}
	for n, item := range items {
		page.Items[n] = wire(item)
	}
	if !last.IsZero() {
		page.NextCursor = c.seal(last[:], list)
	}
	return answer{status: 200, body: page}
}

// idPosition is the position of such a list.
func (c *call) idPosition(p *params, list string) (after task.ID) {
	copy(after[:], c.position(p, list))
	return after
}

// limit is the query parameter of that name.
func (p *params) limit() int { return p.integer("limit", 1, 100, 50) }

// bodyTime is a time in a body, zero for none.
func bodyTime(field string, s *string) (time.Time, error) {
	if s == nil {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, *s)
	if err != nil {
		return time.Time{}, invalid(field, "must be a time of RFC 3339, such as 2026-09-27T10:00:00Z")
	}
	if epoch := time.UnixMilli(0); t.Before(epoch) {
		return epoch.UTC(), nil // past is past; the zero time would be none
	}
	return t.UTC(), nil
}

// noBody refuses a body other than an empty object.
func (c *call) noBody() error {
	var nothing struct{}
	return c.decode(&nothing, true)
}

// agentName is the agent of the path.
func (c *call) agentName() string { return pathValue(c.request.PathParameters["agent"]) }
