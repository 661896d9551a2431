package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Conversation is a context: the tasks between two agents that belong together.
type Conversation struct {
	ID            string     `json:"id"`
	Participants  []Party    `json:"participants"` // two
	TaskCount     int        `json:"task_count"`
	OpenTaskCount int        `json:"open_task_count"`
	CreatedAt     time.Time  `json:"created_at"`
	UpdatedAt     time.Time  `json:"updated_at"`
	Tasks         []TaskItem `json:"tasks"` // newest change first; of a single conversation only
}

// Conversations walks the caller's conversations, newest change first. It ends after the first error.
func (c *Client) Conversations(ctx context.Context) iter.Seq2[Conversation, error] {
	return pages[Conversation](ctx, c, "/v1/a2a/contexts", url.Values{})
}

// Conversation reads one, with its tasks.
func (c *Client) Conversation(ctx context.Context, id string) (Conversation, error) {
	return answer[Conversation](ctx, c, call{method: http.MethodGet, path: path("/v1/a2a/contexts/{}", id)})
}

// FoundMessage is a message with the task that it stands on.
type FoundMessage struct {
	ID               string    `json:"id"`
	MessageID        string    `json:"message_id"`
	Role             string    `json:"role"`
	Parts            []Part    `json:"parts"`
	Extensions       []string  `json:"extensions"`
	ReferenceTaskIDs []string  `json:"reference_task_ids"`
	CreatedAt        time.Time `json:"created_at"`
	TaskID           string    `json:"task_id"`
	ContextID        string    `json:"context_id"`
	TaskState        State     `json:"task_state"`
	Caller           Party     `json:"caller"`
	Target           Party     `json:"target"`
}

// Text is the message's text parts, joined by newlines.
func (m FoundMessage) Text() string { return textOf(m.Parts) }

// MessageFilter says which messages to find. Zero fields don't filter.
type MessageFilter struct {
	IdentityID      string // whose, for an organization's key; ActAs does the same
	Query           string // words and "phrases in quotes"
	TaskID          string
	ContextID       string
	Role            string // caller or agent
	Direction       Direction
	WorkerHandle    string
	RequesterHandle string
	Since           time.Time
	PageSize        int // 1 to 100; 50 when zero
}

// FindMessages walks messages across the caller's tasks, newest first. It ends after the first error.
func (c *Client) FindMessages(ctx context.Context, f MessageFilter) iter.Seq2[FoundMessage, error] {
	q := url.Values{}
	for name, value := range map[string]string{
		"identity_id": f.IdentityID, "q": f.Query, "task_id": f.TaskID, "context_id": f.ContextID, "role": f.Role,
		"direction": string(f.Direction), "worker_handle": f.WorkerHandle, "requester_handle": f.RequesterHandle,
		"since": timestamp(f.Since),
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.PageSize != 0 {
		q.Set("limit", strconv.Itoa(f.PageSize))
	}
	return pages[FoundMessage](ctx, c, "/v1/a2a/messages", q)
}
