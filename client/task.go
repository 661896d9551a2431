package client

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"
)

// State is where a task stands, which says who moves next.
type State string

const (
	Submitted     State = "submitted"      // sent; the worker moves next
	Working       State = "working"        // taken up; the worker moves next
	InputRequired State = "input_required" // the worker asked; the requester moves next
	Completed     State = "completed"      // done
	Failed        State = "failed"         // could not be done
	Canceled      State = "canceled"       // withdrawn by the requester
	Rejected      State = "rejected"       // declined by the worker
)

// Terminal says whether s is final: no write changes a task that reached it.
func (s State) Terminal() bool {
	return s == Completed || s == Failed || s == Canceled || s == Rejected
}

// Intent is what a worker's reply means; it implies the state that follows.
type Intent string

const (
	Progress  Intent = "progress"   // to Working
	AskCaller Intent = "ask_caller" // to InputRequired
	Complete  Intent = "complete"   // to Completed
	Fail      Intent = "fail"       // to Failed
	Reject    Intent = "reject"     // to Rejected, while the worker has said nothing yet
)

// Task is one piece of work that a requester (Caller) asked of a worker (Target).
type Task struct {
	ID               string `json:"id"`
	ContextID        string `json:"context_id"`
	CallerIdentityID string `json:"caller_identity_id"`
	TargetIdentityID string `json:"target_identity_id"`
	State            State  `json:"state"`

	// The texts are empty where the service says null: a text is never empty.
	Message  string `json:"message"`  // of the first request
	Result   string `json:"result"`   // the worker's latest
	Question string `json:"question"` // what the worker asks, while InputRequired
	Error    string `json:"error"`    // why it Failed or was Rejected

	Caller    Party      `json:"caller"`
	Target    Party      `json:"target"`
	Artifacts []Artifact `json:"artifacts"`

	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	CompletedAt time.Time `json:"completed_at"` // zero while the task is open

	// Messages are the newest ones, oldest first; with HistoryTruncated there are more, see Client.Messages.
	Messages         []Message `json:"messages"`
	HistoryTruncated bool      `json:"history_truncated"`

	// ETag names this version of the task, for IfMatch. Empty in lists.
	ETag string `json:"-"`
	// Replayed says that a send was answered with the task that an earlier one with its MessageID had made.
	Replayed bool `json:"-"`
}

// Party is one of the two agents of a task, as of its send.
type Party struct {
	IdentityID     string `json:"identity_id"`
	OrganizationID string `json:"organization_id"`
	Handle         string `json:"handle"`
	Verified       bool   `json:"verified"`   // of callers only
	TrustTier      string `json:"trust_tier"` // of callers only: same_organization, verified or unverified
}

// Artifact is what a completed task delivered.
type Artifact struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Parts []Part `json:"parts"`
}

// TaskItem is a task as lists show it: without messages and artifacts, and with its texts clipped.
type TaskItem struct {
	Task
	CallerHandle string `json:"caller_handle"`
	TargetHandle string `json:"target_handle"`
	Clipped      bool   `json:"clipped"` // one of the texts is only its beginning
}

// Message is one message of a task.
type Message struct {
	ID               string          `json:"id"`
	MessageID        string          `json:"message_id"` // the author's own id for it, empty when it gave none
	Role             string          `json:"role"`       // "caller" or "agent"
	Parts            []Part          `json:"parts"`
	Metadata         json.RawMessage `json:"metadata"` // nil when it has none
	Extensions       []string        `json:"extensions"`
	ReferenceTaskIDs []string        `json:"reference_task_ids"`
	CreatedAt        time.Time       `json:"created_at"`
}

// UnmarshalJSON reads a message; null metadata is nil.
func (m *Message) UnmarshalJSON(raw []byte) error {
	type plain Message
	if err := json.Unmarshal(raw, (*plain)(m)); err != nil {
		return err
	}
	if bytes.Equal(m.Metadata, []byte("null")) {
		m.Metadata = nil
	}
	return nil
}

// Text is the message's text parts, joined by newlines.
func (m Message) Text() string { return textOf(m.Parts) }

// Part is exactly one of Text, Data and File.
type Part struct {
	Text string `json:"text,omitempty"`
	// Data is any JSON value, null included; it is kept digit for digit and in key order.
	Data     json.RawMessage `json:"data,omitempty"`
	File     *File           `json:"file,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"` // a JSON object
}

// File is a file by reference (URI) or by value (Bytes, in base64).
type File struct {
	URI   string `json:"uri,omitempty"`
	Bytes string `json:"bytes,omitempty"`
	Name  string `json:"name,omitempty"`
	MIME  string `json:"mime,omitempty"`
}

// Text is the artifact's text parts, joined by newlines.
func (a Artifact) Text() string { return textOf(a.Parts) }

func textOf(parts []Part) string {
	var texts []string
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Draft is a message to be sent: Message for plain text or Parts, not both.
type Draft struct {
	Message string `json:"message,omitempty"`
	Parts   []Part `json:"parts,omitempty"`
	// MessageID makes the write safe to repeat: derive it from whatever causes the message, so that a program
	// that restarts repeats it too. Empty: one is made, which covers only the repetitions within this call.
	MessageID        string          `json:"message_id,omitempty"`
	Metadata         json.RawMessage `json:"metadata,omitempty"`
	Extensions       []string        `json:"extensions,omitempty"`
	ReferenceTaskIDs []string        `json:"reference_task_ids,omitempty"`
}

func (d Draft) identified() Draft {
	if d.MessageID == "" {
		d.MessageID = newMessageID()
	}
	return d
}

func newMessageID() string { return "auto-" + rand.Text() }
