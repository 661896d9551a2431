package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Send is a request to another agent.
type Send struct {
	To        string // the worker's handle, with or without @, or its identity id
	ContextID string // the conversation to join; empty for a new one
	Draft
}

type sendBody struct {
	TargetHandle     string `json:"target_handle,omitempty"`
	TargetIdentityID string `json:"target_identity_id,omitempty"`
	ContextID        string `json:"context_id,omitempty"`
	Draft
}

// Send makes a task, or returns the one that an earlier send with the same MessageID made (Task.Replayed).
func (c *Client) Send(ctx context.Context, s Send, options ...CallOption) (Task, error) {
	body := sendBody{ContextID: s.ContextID, Draft: s.Draft.identified()}
	if isID(s.To) {
		body.TargetIdentityID = s.To
	} else {
		body.TargetHandle = s.To
	}
	return c.task(ctx, call{method: http.MethodPost, path: "/v1/a2a/tasks", body: body}, options)
}

// Task reads a task that the caller sent or received.
func (c *Client) Task(ctx context.Context, id string, options ...CallOption) (Task, error) {
	return c.task(ctx, call{method: http.MethodGet, path: path("/v1/a2a/tasks/{}", id)}, options)
}

// Wait returns the task once nothing is to be expected of the worker: it asked, or the task has ended. It asks the
// service for as long as ctx allows.
func (c *Client) Wait(ctx context.Context, id string) (Task, error) {
	for {
		t, err := c.Task(ctx, id, WaitFor(25*time.Second))
		if err != nil || t.State == InputRequired || t.State.Terminal() {
			return t, err
		}
	}
}

// Add sends a further message of the requester; a task that asked goes on working.
func (c *Client) Add(ctx context.Context, id string, d Draft, options ...CallOption) (Task, error) {
	return c.task(ctx, call{method: http.MethodPost, path: path("/v1/a2a/tasks/{}/messages", id), body: d.identified()}, options)
}

// Reply is an answer of the worker.
type Reply struct {
	Intent Intent `json:"intent"`
	// LeaseID is that of the claim under which the worker answers; empty for tasks that weren't claimed.
	LeaseID string `json:"lease_id,omitempty"`
	Draft
}

// Reply answers a received task.
func (c *Client) Reply(ctx context.Context, id string, r Reply, options ...CallOption) (Task, error) {
	r.Draft = r.Draft.identified()
	return c.task(ctx, call{method: http.MethodPost, path: path("/v1/a2a/tasks/{}/reply", id), body: r}, options)
}

// Cancel withdraws a task that the caller sent. A task that is canceled already is a success.
func (c *Client) Cancel(ctx context.Context, id string, options ...CallOption) (Task, error) {
	return c.task(ctx, call{method: http.MethodPost, path: path("/v1/a2a/tasks/{}/cancel", id)}, options)
}

// SetState is what SetState changes: at least one of State and Result.
type SetState struct {
	State     State  `json:"state,omitempty"`
	Result    string `json:"result,omitempty"`
	MessageID string `json:"message_id,omitempty"` // as in Draft
}

// SetState names a state of a received task directly.
//
// Deprecated: use Reply, which says what was meant.
func (c *Client) SetState(ctx context.Context, id string, s SetState, options ...CallOption) (Task, error) {
	if s.MessageID == "" {
		s.MessageID = newMessageID()
	}
	return c.task(ctx, call{method: http.MethodPatch, path: path("/v1/a2a/tasks/{}", id), body: s}, options)
}

func (c *Client) task(ctx context.Context, do call, options []CallOption) (Task, error) {
	var t Task
	header, status, err := c.do(ctx, do, &t, options...)
	if err != nil {
		return Task{}, err
	}
	t.ETag = header.Get("ETag")
	t.Replayed = do.path == "/v1/a2a/tasks" && status == http.StatusOK
	return t, nil
}

// Direction is which of an agent's tasks are asked for.
type Direction string

const (
	Inbound  Direction = "inbound"  // received
	Outbound Direction = "outbound" // sent
	Both     Direction = "both"
)

// TaskFilter says which tasks to list. Zero fields don't filter.
type TaskFilter struct {
	IdentityID      string // whose tasks, for an organization's key; ActAs does the same
	Direction       Direction
	RequesterHandle string
	WorkerHandle    string
	State           State
	ContextID       string
	Query           string    // words and "phrases in quotes"
	Since           time.Time // changed strictly after
	CreatedSince    time.Time // created at or after
	PageSize        int       // 1 to 100; 50 when zero
	Cursor          string    // the page to start with; from Page.NextCursor
}

func (f TaskFilter) values() url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("identity_id", f.IdentityID)
	set("direction", string(f.Direction))
	set("requester_handle", f.RequesterHandle)
	set("worker_handle", f.WorkerHandle)
	set("state", string(f.State))
	set("context_id", f.ContextID)
	set("q", f.Query)
	set("since", timestamp(f.Since))
	set("created_since", timestamp(f.CreatedSince))
	set("cursor", f.Cursor)
	if f.PageSize != 0 {
		q.Set("limit", strconv.Itoa(f.PageSize))
	}
	return q
}

// Page is a page of a list. It may be short or empty and still not be the last.
type Page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor"` // empty on the last page
}

// TaskPage returns one page of the caller's tasks, newest change first.
func (c *Client) TaskPage(ctx context.Context, f TaskFilter) (Page[TaskItem], error) {
	return page[TaskItem](ctx, c, "/v1/a2a/tasks/search", f.values())
}

// Tasks walks the caller's tasks, newest change first, page by page. It ends after the first error.
func (c *Client) Tasks(ctx context.Context, f TaskFilter) iter.Seq2[TaskItem, error] {
	return pages[TaskItem](ctx, c, "/v1/a2a/tasks/search", f.values())
}

// Messages walks a task's whole history, oldest first. It ends after the first error.
func (c *Client) Messages(ctx context.Context, taskID string) iter.Seq2[Message, error] {
	return pages[Message](ctx, c, path("/v1/a2a/tasks/{}/messages", taskID), url.Values{})
}

func page[T any](ctx context.Context, c *Client, path string, query url.Values) (Page[T], error) {
	var p Page[T]
	_, _, err := c.do(ctx, call{method: http.MethodGet, path: path, query: query}, &p)
	return p, err
}

func pages[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			p, err := page[T](ctx, c, path, query)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.NextCursor == "" {
				return
			}
			query.Set("cursor", p.NextCursor)
		}
	}
}

func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// isID tells an identity id from a handle, which is at most 32 characters long.
func isID(s string) bool { return len(s) == 36 && strings.Count(s, "-") == 4 }
