package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// The types of events.
const (
	EventCreated     = "a2a.task.created"      // to the worker: a new task
	EventMessage     = "a2a.task.message"      // to the worker: the requester added a message
	EventCanceled    = "a2a.task.canceled"     // to the worker: withdrawn
	EventSentUpdated = "a2a.sent_task.updated" // to the requester: the state changed or the worker spoke
)

// Event is one entry of an organization's log, and the detail of an event on its bus.
type Event struct {
	ID             string `json:"id"` // the same however often it comes
	Type           string `json:"type"`
	OrganizationID string `json:"organization_id"`
	IdentityID     string `json:"identity_id"`  // who must see it
	AggregateID    string `json:"aggregate_id"` // the task
	Sequence       int64  `json:"sequence"`     // 1, 2, 3, … in its organization
	Version        int    `json:"version"`      // of the task after the change
	// OccurredAt is when the change was made.
	OccurredAt time.Time       `json:"occurred_at"`
	Replay     bool            `json:"replay"`  // sent again on purpose
	Payload    json.RawMessage `json:"payload"` // see Event.Task
	// Cursor is the place in the log behind this event; of Stream only.
	Cursor string `json:"-"`
}

// EventTask is the payload of an event about a task.
type EventTask struct {
	TaskID           string `json:"task_id"`
	ContextID        string `json:"context_id"`
	State            State  `json:"state"`
	MessageID        string `json:"message_id"` // the service's id of the message, Message.ID
	Message          string `json:"message"`
	Result           string `json:"result"`
	MessageTruncated bool   `json:"message_truncated"` // one of the texts was cut; read the task for the rest
	Caller           Party  `json:"caller"`
	Target           Party  `json:"target"`
}

// Task decodes the payload of an event about a task.
func (e Event) Task() (t EventTask, err error) {
	err = json.Unmarshal(e.Payload, &t)
	return t, err
}

// EventFilter says which events, and where in the log to start: at Cursor, or at Since, or at its oldest entry.
type EventFilter struct {
	Type        string
	IdentityID  string
	AggregateID string // a task
	Since       time.Time
	Cursor      string
}

func (f EventFilter) values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"type": f.Type, "identity_id": f.IdentityID, "aggregate_id": f.AggregateID, "cursor": f.Cursor,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Cursor == "" && !f.Since.IsZero() {
		q.Set("since", timestamp(f.Since))
	}
	return q
}

// EventPage is a page of a log. Whoever goes on from its cursor misses nothing and sees nothing twice.
type EventPage struct {
	Items  []Event `json:"items"`
	Cursor string  `json:"cursor"` // never empty: what comes later is behind it
}

// EventPage returns the next events that are in the log, oldest first; none is no error.
func (c *Client) EventPage(ctx context.Context, f EventFilter) (EventPage, error) {
	return answer[EventPage](ctx, c, call{method: http.MethodGet, path: "/v1/events", query: f.values()})
}

// WaitEvent waits for the next event, up to 55 s; ok is false when none came. Without Cursor or Since it starts at the
// call. next is the cursor to go on from.
func (c *Client) WaitEvent(ctx context.Context, f EventFilter, most time.Duration) (e Event, next string, ok bool, err error) {
	query := f.values()
	query.Set("timeout_ms", strconv.FormatInt(most.Milliseconds(), 10))
	var got struct {
		Event  *Event
		Cursor string
	}
	patient := *c // longer than a wait, not a dead line
	patient.timeout = max(c.timeout, most+15*time.Second)
	if _, _, err := patient.do(ctx, call{method: http.MethodGet, path: "/v1/events/wait", query: query}, &got); err != nil {
		return Event{}, f.Cursor, false, err
	}
	if got.Event == nil {
		return Event{}, got.Cursor, false, nil
	}
	return *got.Event, got.Cursor, true, nil
}

// Events follows the log until ctx ends: what is in it, then what comes. It ends after the first error. A program that
// must go on where it stopped keeps the cursors of EventPage instead.
func (c *Client) Events(ctx context.Context, f EventFilter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for ctx.Err() == nil {
			p, err := c.EventPage(ctx, f)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range p.Items {
				if !yield(e, nil) {
					return
				}
			}
			f.Cursor = p.Cursor
			if len(p.Items) > 0 {
				continue
			}
			e, next, ok, err := c.WaitEvent(ctx, f, 25*time.Second)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				yield(Event{}, err)
				return
			case ok && !yield(e, nil):
				return
			}
			f.Cursor = next
		}
	}
}
