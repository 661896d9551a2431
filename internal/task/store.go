package task

import (
	"context"
	"time"
)

// View is what a single-task answer shows: the task, its newest messages, and the texts in full.
type View struct {
	Task
	// Token is the store's own note of what it read; Save takes it back to tell whether the task moved on.
	Token any
	// Minimal says that the task was asked for without messages: History, FirstText and LatestText are empty, and the
	// clips are all there is of the texts. Artifact is what a write's answer shows; a Store leaves it out.
	Minimal    bool
	History    []Message // the newest, oldest first; see Newest
	Truncated  bool      // there are more than History
	FirstText  string    // the whole text behind Task.Request
	LatestText string    // the whole text behind Task.Result
	// Artifact is the message whose parts are the artifacts, nil before the task completed with one.
	Artifact *Message
}

// Store keeps tasks. All methods are safe for concurrent use, and return ErrUnavailable (wrapped) when storage
// can't be reached or throttles.
type Store interface {
	// Create stores a new task with its first change, in one transaction that also opens its context, or joins
	// it when join is true. The returned error is
	//   - ErrExists when the task's id is taken: the task was made by an earlier send with the same message id.
	//     That wins over the two below. A create whose own answer was lost is a success instead;
	//   - ErrContextNotFound when the context to join is not one of exactly this pair, in either direction;
	//   - ErrContextFull when it holds MaxTasks tasks;
	//   - ErrConflict when transactions of others kept it from committing for about five seconds.
	Create(ctx context.Context, t Task, first Change, join bool) error

	// Load reads a task as of the latest accepted write, with its newest messages unless minimal. What it
	// returns is one moment's state, never half of a write. ErrNotFound when there is none.
	Load(ctx context.Context, id ID, minimal bool) (View, error)

	// LoadFor is Load for a viewer. For a task that it may not see it does no more than for one that isn't there: one
	// round trip, ErrNotFound.
	LoadFor(ctx context.Context, viewer Viewer, id ID, minimal bool) (View, error)

	// Save stores what a change made of the task in was, in one transaction, if no other write came between:
	// otherwise it stores nothing and returns ErrStale. A save whose own answer was lost is a success.
	// ErrConflict as for Create. It returns the token of the task as it is now.
	Save(ctx context.Context, was View, now Task, change Change) (token any, err error)

	// Renew stores the new end of a lease, under the condition of Save. It is no change: nobody is told.
	Renew(ctx context.Context, was View, now Task) (token any, err error)

	// History pages through a task's messages, oldest first, from the change after the given number. next is
	// the number to go on from, 0 at the end.
	History(ctx context.Context, id ID, after, limit int) (page []Message, next int, err error)

	// List is one page of an identity's tasks, newest change first; see Query. It may miss writes of the last
	// two seconds; a task that nobody changes is on one page, whatever happens to others in between. Invalid when
	// Text has no word or After is not a position.
	List(ctx context.Context, q Query) (Page, error)

	// SearchMessages is one page of messages, newest first, in exact order over all tasks; otherwise as List.
	SearchMessages(ctx context.Context, q MessageQuery) (MessagePage, error)

	// Contexts is one page of contexts, newest change first; otherwise as List.
	Contexts(ctx context.Context, q ContextQuery) (ContextPage, error)

	// Context reads a context with its tasks, newest change first. ErrNotFound when there is none, or of the given
	// identity, unless that is zero: in one round trip.
	Context(ctx context.Context, id, identity ID) (Context, []Task, error)

	// Claimable lists tasks that a worker may claim, longest unchanged first: at most limit of those submitted, and
	// those whose lease ran out before now. As for List, they may be behind; Save tells.
	Claimable(ctx context.Context, worker ID, limit int, now time.Time) ([]View, error)
}

// Direction is which side of its tasks an identity asks for.
type Direction string

const (
	Inbound  Direction = "inbound"  // received
	Outbound Direction = "outbound" // sent
	Both     Direction = "both"
)

// Query says which tasks of an identity to list. Zero fields don't filter.
type Query struct {
	Identity     ID
	Direction    Direction
	State        State
	Requester    string // the handle as recorded, lower case, without @; or the identity's id
	Worker       string
	Context      ID
	Text         string    // words and phrases, contract section 3, "q"
	Since        time.Time // changed strictly after
	CreatedSince time.Time // created at or after
	Limit        int       // 1 to 100
	After        []byte    // the Next of the page before, nil for the first
}

// Page is a page of a list. It may be short or empty and still not be the last.
type Page struct {
	Items []Task
	Next  []byte // nil on the last page
}
