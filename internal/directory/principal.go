package directory

import "baton/internal/task"

// Role is what an organization's key may do; see contract section 1.
type Role string

const (
	Viewer Role = "viewer" // reads its organization
	Member Role = "member" // writes tasks as its organization's agents
	Admin  Role = "admin"  // writes its organization's directory too
)

// Kind is which sort of key a caller showed.
type Kind string

const (
	Agent    Kind = "agent"    // acts only as its own identity
	Org      Kind = "org"      // acts as one of its organization's agents
	Operator Kind = "operator" // runs the service; sees no task
)

// Principal is the caller of a request, as its key says.
type Principal struct {
	Kind         Kind
	KeyID        task.ID
	Organization task.ID // zero for the operator
	Identity     task.ID // an agent's own, zero for others
	Role         Role    // an org key's, empty for others
}

// Organization is a tenant.
type Organization struct {
	ID           task.ID
	Name         string
	Verified     bool
	Suspended    bool
	AWSAccountID string
	LegacyEvents bool // wants a2a.task.updated on its bus and webhooks too
}

// Skill is one thing that an agent says it can do, as A2A agent cards list them.
type Skill struct {
	ID, Name, Description string
	Tags, Examples        []string
}

// Identity is an agent: what is known of it and what it allows.
type Identity struct {
	ID                  task.ID
	Organization        Organization
	Handle              string // lower case, without @
	DisplayName         string
	Description         string
	A2AEnabled          bool
	Discoverable        bool
	DeduplicateMessages bool
	Skills              []Skill
	Deleted             bool
}
