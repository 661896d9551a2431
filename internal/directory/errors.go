package directory

import "errors"

// The kinds of refusal. Callers tell them apart by errors.Is; the texts are for logs. Bad input is a task.Invalid,
// unreachable storage a task.ErrUnavailable, a race lost for too long a task.ErrConflict.
var (
	ErrUnauthenticated = errors.New("directory: no such key, or no longer good")
	ErrNotFound        = errors.New("directory: not found")        // or not for this caller to know
	ErrForbidden       = errors.New("directory: not for this key") // known, but not this caller's
	ErrActAsMissing    = errors.New("directory: an organization's key must name the agent it acts as")
	ErrHandleTaken     = errors.New("directory: handle taken")
	ErrNotAdmitted     = errors.New("directory: worker does not admit the requester")
	ErrTransition      = errors.New("directory: not from this state")
	ErrNoBus           = errors.New("directory: no bus can be made now") // for want of room, or of the organization
	ErrManyIdentities  = errors.New("directory: the organization has as many identities as it may")
	ErrManyHandles     = errors.New("directory: the organization took as many handles as it may")
	ErrManyKeys        = errors.New("directory: the organization has as many keys as it may")
	ErrManyRequests    = errors.New("directory: the organization has as many open requests for connections as it may")
	ErrExists          = errors.New("directory: there already")
	ErrStale           = errors.New("directory: another write was faster")
)
