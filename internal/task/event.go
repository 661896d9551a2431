package task

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Event is one entry of an organization's log: what one of its agents must know of a change (contract section 4).
type Event struct {
	ID           ID // the same however often the change is told; see EventID
	Type         EventType
	Organization ID // whose log it is in
	Identity     ID // who must see it; zero: only the organization itself
	// Sequence is its place in the log: 1, 2, 3 and so on without a gap. 0 before it has one.
	Sequence int64
	// LoggedAt is when it was appended, in whole seconds; it never falls from one entry to the next. Zero before.
	LoggedAt time.Time
	// Replay marks an event that was sent on purpose a second time.
	Replay bool

	Task    ID
	Context ID
	Version int // of the task after the change, and the change's number
	State   State
	At      time.Time
	// MessageID is the ID of the change's message, zero when it had none.
	MessageID ID
	// Message is the text of the change's message, and Result the latest worker text after it. A Cut one is only the
	// beginning: the log holds no more, the changes do.
	Message      Clip
	Result       Clip
	ResultChange int // see Task.ResultChange
	Caller       Caller
	Target       Party

	// Note is the payload of an event that is about no task, as a JSON object of at most 500 bytes. Task is then the id
	// of what it is about, and what else there is of a task is zero.
	Note string
}

// EventID is the id of the event that a change of a task gives rise to (UUID version 8): made again from the same
// change it is the same id, so that logs, buses and webhooks can tell a repetition.
func EventID(task ID, number int, t EventType) ID {
	h := sha256.New()
	h.Write([]byte("baton event 1\x00"))
	h.Write(task[:])
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(number)))
	h.Write([]byte(t))
	var id ID
	copy(id[:], h.Sum(nil))
	return id.marked(8)
}

// Events are the entries that the change makes in the logs of those who must know, in the order of Notices. Message is
// whole; Result is whole where the change's message is the latest worker text.
func (c Change) Events() []Event {
	message, messageID := Clip{None: true}, ID{}
	result := c.Result
	if c.Message != nil {
		messageID = c.Message.ID
		if text, ok := c.Message.Text(); ok {
			message = Clip{Text: text}
			if c.ResultChange == c.Number {
				result = message
			}
		}
	}
	var events []Event
	for _, n := range c.Notices() {
		events = append(events, Event{
			ID: EventID(c.Task, c.Number, n.Type), Type: n.Type, Organization: n.To.Organization, Identity: n.To.Identity,
			Task: c.Task, Context: c.Context, Version: c.Number, State: c.State, At: c.At,
			MessageID: messageID, Message: message, Result: result, ResultChange: c.ResultChange,
			Caller: c.Caller, Target: c.Target,
		})
	}
	return events
}

// Answers says whether a reader who asked for a type is shown an event of the type t: the alias EventUpdated asks for
// EventSentUpdated.
func (asked EventType) Answers(t EventType) bool {
	return asked == "" || asked == t || asked == EventUpdated && t == EventSentUpdated
}

// EventHookDisabled tells an organization that one of its webhooks was disabled, and why. It is about no task.
const EventHookDisabled EventType = "webhook.disabled"

// EventTypes lists every type that a reader may ask for.
var EventTypes = []EventType{
	EventCreated, EventMessage, EventCanceled, EventSentUpdated, EventUpdated, EventHookDisabled,
}
