package envelope

import (
	"bytes"
	"encoding/json"

	"baton/internal/task"
)

// MaxBytes is the most that an encoded event takes: with source and type still within 64 KB, which is one billing unit
// of a bus.
const MaxBytes = 63 << 10

type envelope struct {
	ID             string         `json:"id"`
	Type           task.EventType `json:"type"`
	OrganizationID string         `json:"organization_id"`
	IdentityID     *string        `json:"identity_id"`
	AggregateID    string         `json:"aggregate_id"`
	Sequence       int64          `json:"sequence"`
	Version        int            `json:"version"`
	OccurredAt     string         `json:"occurred_at"`
	Replay         bool           `json:"replay,omitempty"`
	Payload        any            `json:"payload"`
}

type payload struct {
	TaskID           string     `json:"task_id"`
	ContextID        string     `json:"context_id"`
	State            task.State `json:"state"`
	MessageID        *string    `json:"message_id"`
	Message          *string    `json:"message"`
	MessageTruncated bool       `json:"message_truncated"`
	Result           *string    `json:"result"`
	Caller           caller     `json:"caller"`
	Target           party      `json:"target"`
}

type party struct {
	IdentityID     string `json:"identity_id"`
	OrganizationID string `json:"organization_id"`
	Handle         string `json:"handle"`
}

type caller struct {
	party
	Verified  bool   `json:"verified"`
	TrustTier string `json:"trust_tier"`
}

// Marshal is the JSON of an event, at most MaxBytes. Message and result share the room: what does not fit is cut at a
// character, and message_truncated says that one of them was, here or before.
func Marshal(e task.Event) []byte {
	head := e
	head.Message, head.Result = blank(e.Message), blank(e.Result)
	room := MaxBytes - len(encode(head)) - len("false") + len("true") // of message_truncated
	message, result := share(quoted(e.Message.Text), quoted(e.Result.Text), room)
	e.Message = shortened(e.Message, message)
	e.Result = shortened(e.Result, result)
	return encode(e)
}

func encode(e task.Event) []byte {
	out := envelope{
		ID: e.ID.String(), Type: e.Type, OrganizationID: e.Organization.String(), IdentityID: id(e.Identity),
		AggregateID: e.Task.String(), Sequence: e.Sequence, Version: e.Version,
		OccurredAt: e.At.UTC().Format("2006-01-02T15:04:05.000Z07:00"), Replay: e.Replay, Payload: payloadOf(e),
	}
	if e.Note != "" {
		out.Payload = json.RawMessage(e.Note)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	// Nothing in an envelope can fail to encode.
	_ = enc.Encode(out)
	return bytes.TrimRight(text.Bytes(), "\n")
}

func payloadOf(e task.Event) payload {
	parties := task.Task{Caller: e.Caller, Target: e.Target}
	return payload{
		TaskID: e.Task.String(), ContextID: e.Context.String(), State: e.State, MessageID: id(e.MessageID),
		Message: text(e.Message), MessageTruncated: e.Message.Cut || e.Result.Cut, Result: text(e.Result),
		Caller: caller{partyOf(e.Caller.Party), e.Caller.Verified, parties.TrustTier()}, Target: partyOf(e.Target),
	}
}

// id is null for the zero id.
func id(id task.ID) *string {
	if id.IsZero() {
		return nil
	}
	text := id.String()
	return &text
}

func partyOf(p task.Party) party {
	return party{p.Identity.String(), p.Organization.String(), p.Handle}
}

func text(c task.Clip) *string {
	if c.None {
		return nil
	}
	return &c.Text
}

// blank is the clip without its text: what a cut one takes at least.
func blank(c task.Clip) task.Clip {
	c.Text = ""
	c.Cut = !c.None
	return c
}
