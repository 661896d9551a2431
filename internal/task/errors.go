package task

import "errors"

// The kinds of refusal. Callers tell them apart by errors.Is; the texts are for logs.
var (
	ErrNotFound        = errors.New("task: not found")              // or not for this viewer to know
	ErrContextNotFound = errors.New("task: context not found")      // or not one of exactly these two
	ErrWorkerOnly      = errors.New("task: only the worker may")    // asked by the requester
	ErrRequesterOnly   = errors.New("task: only the requester may") // asked by the worker
	ErrPrecondition    = errors.New("task: version is not the one given")
	ErrTerminal        = errors.New("task: already ended")
	ErrTransition      = errors.New("task: not from this state")
	ErrTaskFull        = errors.New("task: holds 500 messages")
	ErrContextFull     = errors.New("task: context holds 100 tasks")
	ErrExists          = errors.New("task: made by an earlier send")
	ErrStale           = errors.New("task: another write was faster")
	ErrLeaseLost       = errors.New("task: lease is not current")
	ErrConflict        = errors.New("task: lost too many races") // worth a retry later
	ErrGone            = errors.New("task: older than the log is kept")
	ErrUnavailable     = errors.New("task: storage unavailable") // worth a retry later; the write may have been applied
)

// Invalid is bad input: what is wrong with which fields.
type Invalid []FieldError

// FieldError says what is wrong with one field. Field is a path into the body such as parts[2].data, or the
// name of a query parameter or header.
type FieldError struct {
	Field   string
	Message string
}

func (e Invalid) Error() string {
	s := "task: invalid"
	for _, f := range e {
		s += ": " + f.Field + " " + f.Message
	}
	return s
}
