package task

import (
	"slices"
	"time"
)

// The transitions: one pure function for each kind of write, from a task, the write and the time to the task
// after it and the change, or to the reason why not. None of them modifies its receiver.

// sent makes a new task.
func sent(id, context ID, from Caller, to Party, m Message, at time.Time) (Task, Change) {
	t := Task{ID: id, Context: context, State: Submitted, Caller: from, Target: to, CreatedAt: at, Result: Clip{None: true}}
	if text, ok := m.Text(); ok {
		t.Request = NewClip(text)
	} else {
		t.Request = Clip{None: true}
	}
	m.Role = ByCaller
	return t.step(CauseSent, Submitted, &m, m.MessageID, at)
}

// add takes a further message of the requester; a task that asked goes on.
func (t Task) add(m Message, at time.Time) (Task, Change, error) {
	to := t.State
	if to == InputRequired {
		to = Working
	}
	if err := t.allows(to, &m, m.MessageID); err != nil {
		return Task{}, Change{}, err
	}
	resumed := t.State == InputRequired
	if resumed && t.Lease != nil {
		// The claimer's lease ended with its question: the answer makes the task claimable.
		t.Lease = &Lease{ExpiresAt: at, Length: t.Lease.Length}
	}
	m.Role = ByCaller
	next, c := t.step(CauseMessage, to, &m, m.MessageID, at)
	c.Resumed = resumed
	return next, c, nil
}

// reply takes a message of the worker, with the state that its intent implies. A zero lease is not looked at.
func (t Task) reply(intent Intent, lease ID, m Message, at time.Time) (Task, Change, error) {
	to := Intents[intent]
	if err := t.allows(to, &m, m.MessageID); err != nil {
		return Task{}, Change{}, err
	}
	if !lease.IsZero() && !t.holds(lease) {
		return Task{}, Change{}, ErrLeaseLost
	}
	next, c := t.answered(CauseReply, to, &m, m.MessageID, at)
	return next, c, nil
}

// set is the deprecated write of a state: a reply, with or without a message. An empty state leaves it as it is; no
// worker makes a task submitted or canceled.
func (t Task) set(to State, m *Message, messageID string, at time.Time) (Task, Change, error) {
	foreign := to == Submitted || to == Canceled
	if to == "" {
		to = t.State
	}
	if err := t.allows(to, m, messageID); err != nil {
		return Task{}, Change{}, err
	}
	if foreign {
		return Task{}, Change{}, ErrTransition
	}
	next, c := t.answered(CauseSet, to, m, messageID, at)
	return next, c, nil
}

// cancel withdraws the task.
func (t Task) cancel(messageID string, at time.Time) (Task, Change, error) {
	if err := t.allows(Canceled, nil, messageID); err != nil {
		return Task{}, Change{}, err
	}
	t.Lease = nil
	next, c := t.step(CauseCanceled, Canceled, nil, messageID, at)
	return next, c, nil
}

// claim gives the task to one claimer for a while. ErrTransition when it isn't free.
func (t Task) claim(lease ID, length time.Duration, at time.Time) (Task, Change, error) {
	if !t.Claimable(at) || t.Version >= maxVersion {
		return Task{}, Change{}, ErrTransition
	}
	t.Lease = &Lease{ID: lease, ExpiresAt: at.Add(length), Length: length}
	next, c := t.step(CauseClaimed, Working, nil, "", at)
	return next, c, nil
}

// renew moves the end of the lease; it is no change.
func (t Task) renew(lease ID, at time.Time) (Task, error) {
	switch {
	case t.State.Terminal():
		return Task{}, ErrTerminal
	case !t.holds(lease):
		return Task{}, ErrLeaseLost
	}
	t.Lease = t.Lease.renewed(at)
	return t, nil
}

// Claimable says whether a worker may claim the task at this moment: it is new, or its lease ran out.
func (t Task) Claimable(at time.Time) bool {
	return t.State == Submitted || t.State == Working && t.Lease != nil && !t.Lease.ExpiresAt.After(at)
}

// Full says whether the task holds as many messages as it may.
func (t Task) Full() bool { return t.Messages >= MaxMessages }

const (
	// maxVersion keeps change numbers in six digits; the last ones are left for what ends a task.
	maxVersion = 999_990
	// maxSeen bounds the message ids that a task remembers: those of its messages, and of states set without one.
	maxSeen = 1000
)

// allows says why a write can't be: sealed, full, or not from this state, in this order.
func (t Task) allows(to State, m *Message, messageID string) error {
	switch {
	case t.State.Terminal():
		return ErrTerminal
	case m != nil && t.Full(), !to.Terminal() && (t.Version >= maxVersion || messageID != "" && len(t.Seen) >= maxSeen):
		return ErrTaskFull
	case !t.State.May(to), to == Rejected && t.WorkerSpoke:
		return ErrTransition
	}
	return nil
}

func (t Task) holds(lease ID) bool { return t.Lease != nil && !lease.IsZero() && t.Lease.ID == lease }

func (l *Lease) renewed(at time.Time) *Lease {
	return &Lease{ID: l.ID, ExpiresAt: at.Add(l.Length), Length: l.Length}
}

// answered is what every write of the worker does: the lease, and the texts that follow its words.
func (t Task) answered(cause Cause, to State, m *Message, messageID string, at time.Time) (Task, Change) {
	t.ReplyHasText = false
	if m != nil {
		m.Role = ByAgent
		t.WorkerSpoke = true
		if text, ok := m.Text(); ok {
			t.Result, t.ResultChange, t.ReplyHasText = NewClip(text), t.Version+1, true
		}
		if to == Completed {
			t.Artifacts = t.Version + 1
		}
	}
	if t.Lease != nil {
		switch {
		case to.Terminal():
			t.Lease = nil
		case to == InputRequired:
			t.Lease = &Lease{Length: t.Lease.Length} // ended, but the task is still one that is claimed
		case !t.Lease.ID.IsZero():
			t.Lease = t.Lease.renewed(at)
		}
	}
	return t.step(cause, to, m, messageID, at)
}

// step is what every change does: count, stamp, remember.
func (t Task) step(cause Cause, to State, m *Message, messageID string, at time.Time) (Task, Change) {
	if earliest := t.UpdatedAt.Add(time.Millisecond); at.Before(earliest) {
		at = earliest // clocks of two functions differ; the order of changes must not
	}
	t.Version++
	t.State, t.UpdatedAt = to, at
	if to.Terminal() {
		t.CompletedAt = at
	}
	role := ByAgent
	if cause == CauseSent || cause == CauseMessage || cause == CauseCanceled {
		role = ByCaller
	}
	if m != nil {
		m.CreatedAt = at
		t.Messages++
	}
	if messageID != "" {
		t.Seen = append(slices.Clip(t.Seen), NewFingerprint(role, messageID))
	}
	return t, Change{
		Task: t.ID, Context: t.Context, Number: t.Version, Cause: cause, State: to, At: at, Message: m,
		Caller: t.Caller, Target: t.Target, Result: t.Result, ResultChange: t.ResultChange,
	}
}
