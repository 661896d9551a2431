package directory

import (
	"fmt"
	"time"
	"unicode/utf8"

	"baton/internal/task"
)

// Connection joins two identities, once approved, for sends in both directions.
type Connection struct {
	ID        task.ID
	Requester task.Party // who asked; handles as of then
	Target    task.Party // who was asked, and decides
	State     ConnectionState
	Note      string // what the requester said
	CreatedAt time.Time
	UpdatedAt time.Time
	Version   int // counts the writes; of no meaning outside
}

// ConnectionState is where a connection stands, which also says who moves next.
type ConnectionState string

const (
	Pending  ConnectionState = "pending"  // asked for; the target moves next
	Approved ConnectionState = "approved" // in force; either may revoke it
	Declined ConnectionState = "declined" // over; either may ask anew
	Revoked  ConnectionState = "revoked"  // over; either may ask anew
)

// ConnectionStates lists every state once.
var ConnectionStates = []ConnectionState{Pending, Approved, Declined, Revoked}

// Live says whether the connection takes its pair's one place.
func (s ConnectionState) Live() bool { return s == Pending || s == Approved }

// MaxNote is how many characters a note may have.
const MaxNote = 500

// becomes is the connection after a move of one of its two identities. done says that it stood so already. Errors:
// ErrForbidden for a move that is the target's alone, ErrTransition for one that this state doesn't allow.
func (c Connection) becomes(to ConnectionState, by task.ID, at time.Time) (next Connection, done bool, err error) {
	switch {
	case to != Revoked && by != c.Target.Identity:
		return Connection{}, false, ErrForbidden
	case c.State == to:
		return c, true, nil
	case to == Revoked && !c.State.Live(), to != Revoked && c.State != Pending:
		return Connection{}, false, ErrTransition
	}
	c.State, c.UpdatedAt = to, at
	c.Version++
	return c, false, nil
}

// joins says whether the identity is one of the two.
func (c Connection) joins(identity task.ID) bool {
	return c.Requester.Identity == identity || c.Target.Identity == identity
}

func checkNote(note string) error {
	if n := utf8.RuneCountInString(note); n > MaxNote {
		return task.Invalid{{Field: "note", Message: fmt.Sprintf("has %d characters, more than %d", n, MaxNote)}}
	}
	return nil
}
