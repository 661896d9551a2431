package task

import "time"

// Cause is the kind of write that made a change.
type Cause string

const (
	CauseSent     Cause = "sent"
	CauseMessage  Cause = "message" // the requester added a message
	CauseReply    Cause = "reply"
	CauseSet      Cause = "set" // the deprecated PATCH
	CauseClaimed  Cause = "claimed"
	CauseCanceled Cause = "canceled"
)

// Change is one accepted write: what it did, the state after it, and enough of the task to tell both parties.
// It is immutable, and committed together with the task it leads to: state and event can't part.
type Change struct {
	Task    ID
	Context ID
	Number  int // the task's version after it
	Cause   Cause
	State   State // after it
	At      time.Time
	Resumed bool     // a message that took the task from InputRequired back to Working
	Message *Message // nil when the write had none
	Caller  Caller
	Target  Party
	Result  Clip // the latest worker text after it
	// ResultChange is the number of the change that holds the latest worker text, 0 without one.
	ResultChange int
}

// EventType is the kind of an event, as subscribers name it (contract section 4).
type EventType string

const (
	EventCreated     EventType = "a2a.task.created"      // to the worker: a new task
	EventMessage     EventType = "a2a.task.message"      // to the worker: the requester added a message
	EventCanceled    EventType = "a2a.task.canceled"     // to the worker: withdrawn
	EventSentUpdated EventType = "a2a.sent_task.updated" // to the requester: the state changed or the worker spoke
	EventUpdated     EventType = "a2a.task.updated"      // the older name of EventSentUpdated, an alias
)

// Notice is one event to be told: its type, and the party that must see it.
type Notice struct {
	Type EventType
	To   Party
}

// Notices says who must be told of the change, by its cause (contract section 4, "By cause"). The alias
// EventUpdated is not among them.
func (c Change) Notices() []Notice {
	toWorker := func(t EventType) Notice { return Notice{t, c.Target} }
	updated := Notice{EventSentUpdated, c.Caller.Party}
	switch c.Cause {
	case CauseSent:
		return []Notice{toWorker(EventCreated)}
	case CauseMessage:
		if c.Resumed {
			return []Notice{toWorker(EventMessage), updated}
		}
		return []Notice{toWorker(EventMessage)}
	case CauseCanceled:
		return []Notice{toWorker(EventCanceled), updated}
	default:
		return []Notice{updated}
	}
}
