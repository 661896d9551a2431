package task

import (
	"context"
	"time"
)

// MessageQuery says which messages of an identity's tasks to find. Zero fields don't filter.
type MessageQuery struct {
	Identity  ID
	Direction Direction
	Text      string // what a single message must have, all of it counts; otherwise as Query.Text
	Task      ID
	Context   ID
	Role      Role
	Requester string // the handle as recorded, lower case, without @; or the identity's id
	Worker    string
	Since     time.Time // written strictly after
	Limit     int       // 1 to 100
	After     []byte    // the Next of the page before, nil for the first
}

// FoundMessage is a message and the task that it stands on, without the task's other messages.
type FoundMessage struct {
	Message
	Of Task
}

// MessagePage is a page of messages. It may be short or empty and still not be the last.
type MessagePage struct {
	Items []FoundMessage
	Next  []byte // nil on the last page
}

// Context is a conversation: what its tasks have in common.
type Context struct {
	ID           ID
	Participants [2]Party // of its first task: the requester, then the worker
	Tasks        int
	OpenTasks    int
	CreatedAt    time.Time // of the first task
	UpdatedAt    time.Time // the latest change of any
}

// ContextQuery says which contexts of an identity to list.
type ContextQuery struct {
	Identity ID
	Limit    int    // 1 to 100
	After    []byte // the Next of the page before, nil for the first
}

// ContextPage is a page of contexts. It may be short or empty and still not be the last.
type ContextPage struct {
	Items []Context
	Next  []byte // nil on the last page
}

// List is one page of an identity's tasks; see Store.List.
func (s *Service) List(ctx context.Context, q Query) (Page, error) { return s.store.List(ctx, q) }

// SearchMessages is one page of the messages of an identity's tasks; see Store.SearchMessages.
func (s *Service) SearchMessages(ctx context.Context, q MessageQuery) (MessagePage, error) {
	return s.store.SearchMessages(ctx, q)
}

// Contexts is one page of an identity's contexts; see Store.Contexts.
func (s *Service) Contexts(ctx context.Context, q ContextQuery) (ContextPage, error) {
	return s.store.Contexts(ctx, q)
}

// ReadContext returns a context that the viewer may see, with its tasks, newest change first. Errors: ErrNotFound,
// ErrUnavailable.
func (s *Service) ReadContext(ctx context.Context, viewer Viewer, id ID) (Context, []Task, error) {
	c, tasks, err := s.store.Context(ctx, id, viewer.Identity)
	if err != nil {
		return Context{}, nil, err
	}
	for _, t := range tasks {
		if t.VisibleTo(viewer) {
			return c, tasks, nil // all its tasks are between the same two
		}
	}
	return Context{}, nil, ErrNotFound
}
