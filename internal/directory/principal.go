package directory

import (
	"time"

	"baton/internal/task"
)

// Role is what an organization's key may do; see Rights.
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

// Key is what is known of a key, its secret aside.
type Key struct {
	Principal
	Hash       Hash
	Hint       string // how its secret begins
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero for never
	RevokedAt  time.Time // zero while good
	LastUsedAt time.Time // zero for never; up to an hour behind, see Service.Authenticate
}

// Good says whether the key itself opens the door at this time.
func (k Key) Good(at time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || at.Before(k.ExpiresAt))
}
