package task

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Service is the thin part between a call and the store: load, decide by the transitions, save.
//
// A write that loses a race is decided again on the newer task, for up to five seconds; if it is still allowed
// the caller never knows. All methods are safe for concurrent use.
type Service struct {
	store Store
	now   func() time.Time
}

// NewService returns a service on a store. now is the clock; times are cut to milliseconds.
func NewService(store Store, now func() time.Time) *Service {
	return &Service{store, now}
}

// Send is a wish to make a task.
type Send struct {
	From    Caller
	To      Party
	Context ID    // the conversation to join; zero for a new one
	Message Draft // has passed Check
	// Refused is why the send is not admitted, nil when it is. A replay is answered all the same.
	Refused error
	Minimal bool
}

// Send makes a task, or returns the one that an earlier send with the same message id made, as it stands now;
// created tells which. Errors: Refused, ErrContextNotFound, ErrContextFull, ErrConflict, ErrUnavailable.
func (s *Service) Send(ctx context.Context, send Send) (v View, created bool, err error) {
	id := NewID()
	if send.Message.MessageID != "" {
		id = SendID(send.From.Identity, send.To.Identity, send.Message.MessageID)
	}
	if send.Refused != nil {
		if send.Message.MessageID == "" {
			return View{}, false, send.Refused
		}
		v, err := s.asItStands(ctx, id, send.Minimal)
		if errors.Is(err, ErrNotFound) {
			err = send.Refused
		}
		return v, false, err
	}
	conversation, join := send.Context, !send.Context.IsZero()
	if !join {
		conversation = NewID()
	}
	t, first := sent(id, conversation, send.From, send.To, newMessage(send.Message), s.clock())
	switch err := s.store.Create(ctx, t, first, join); {
	case errors.Is(err, ErrExists):
		v, err := s.asItStands(ctx, id, send.Minimal)
		return v, false, err
	case err != nil:
		return View{}, false, err
	}
	return View{Minimal: send.Minimal}.after(t, first), true, nil
}

// Edit says on which task a write is made, by whom, and under which conditions.
type Edit struct {
	Task   ID
	Viewer Viewer // an agent: Identity is set
	// IfVersions are the versions of which the task must have one, nil for any.
	IfVersions []int
	Minimal    bool
}

// AddMessage adds a further message of the requester; d has passed Check. Errors: ErrNotFound, ErrRequesterOnly,
// ErrPrecondition, ErrTerminal, ErrTaskFull, ErrConflict, ErrUnavailable.
func (s *Service) AddMessage(ctx context.Context, e Edit, d Draft) (View, error) {
	m := newMessage(d)
	return s.write(ctx, e, ByCaller, d.MessageID, func(t Task, at time.Time) (Task, Change, error) {
		return t.add(m, at)
	})
}

// Reply adds a message of the worker with the state that its intent implies; d has passed Check. A zero lease is
// not looked at. Errors as for AddMessage, but ErrWorkerOnly, and ErrTransition, ErrLeaseLost.
func (s *Service) Reply(ctx context.Context, e Edit, intent Intent, lease ID, d Draft) (View, error) {
	m := newMessage(d)
	return s.write(ctx, e, ByAgent, d.MessageID, func(t Task, at time.Time) (Task, Change, error) {
		return t.reply(intent, lease, m, at)
	})
}

// Set is the deprecated write of a state by the worker; d may have no parts, and state may be empty, but not both.
// Errors as for Reply.
func (s *Service) Set(ctx context.Context, e Edit, state State, d Draft) (View, error) {
	m := newMessage(d)
	return s.write(ctx, e, ByAgent, d.MessageID, func(t Task, at time.Time) (Task, Change, error) {
		if len(d.Parts) == 0 {
			return t.set(state, nil, d.MessageID, at)
		}
		message := m
		return t.set(state, &message, d.MessageID, at)
	})
}

// Cancel withdraws a task of the requester. A task that is canceled already is returned as it is, and so is, when
// endedIsFine, one that ended otherwise. Errors as for AddMessage.
func (s *Service) Cancel(ctx context.Context, e Edit, messageID string, endedIsFine bool) (View, error) {
	return s.write(ctx, e, ByCaller, messageID, func(t Task, at time.Time) (Task, Change, error) {
		if t.State == Canceled || endedIsFine && t.State.Terminal() {
			return Task{}, Change{}, errAsItIs
		}
		return t.cancel(messageID, at)
	})
}

// Renew moves the end of the worker's lease on a task. Errors: ErrNotFound, ErrWorkerOnly, ErrPrecondition,
// ErrTerminal, ErrLeaseLost, ErrConflict, ErrUnavailable.
func (s *Service) Renew(ctx context.Context, e Edit, lease ID) (View, error) {
	return s.edit(ctx, e, ByAgent, "", func(v View, at time.Time) (View, error) {
		t, err := v.renew(lease, at)
		if err != nil {
			return View{}, err
		}
		token, err := s.store.Renew(ctx, v, t)
		v.Task, v.Token = t, token
		return v, err
	})
}

// errAsItIs says that a write finds nothing to do, which is a success.
var errAsItIs = errors.New("task: nothing to do")

// write makes one change by a transition.
func (s *Service) write(ctx context.Context, e Edit, by Role, messageID string, decide func(Task, time.Time) (Task, Change, error)) (View, error) {
	return s.edit(ctx, e, by, messageID, func(v View, at time.Time) (View, error) {
		t, change, err := decide(v.Task, at)
		if err != nil {
			return View{}, err
		}
		token, err := s.store.Save(ctx, v, t, change)
		if err != nil {
			return View{}, err
		}
		v = v.after(t, change)
		v.Token = token
		return v, nil
	})
}

// edit loads, looks at what comes before the state in the contract's order of answers, and tries, again on a
// newer task when another write was faster.
func (s *Service) edit(ctx context.Context, e Edit, by Role, messageID string, try func(View, time.Time) (View, error)) (View, error) {
	for race := NewRace(Patience); ; {
		v, err := s.Read(ctx, e.Viewer, e.Task, e.Minimal)
		if err != nil {
			return View{}, err
		}
		isCaller := e.Viewer.Identity == v.Caller.Identity
		switch {
		case by == ByCaller && !isCaller:
			return View{}, ErrRequesterOnly
		case by == ByAgent && isCaller:
			return View{}, ErrWorkerOnly
		case v.HasSeen(by, messageID):
			return s.withArtifact(ctx, v)
		case e.IfVersions != nil && !slices.Contains(e.IfVersions, v.Version):
			return View{}, ErrPrecondition
		}
		after, err := try(v, s.clock())
		switch {
		case errors.Is(err, errAsItIs):
			return s.withArtifact(ctx, v)
		case !errors.Is(err, ErrStale):
			return after, err
		}
		if err := race.Again(ctx); err != nil {
			return View{}, err
		}
	}
}

// asItStands is a task that an earlier write made.
func (s *Service) asItStands(ctx context.Context, id ID, minimal bool) (View, error) {
	v, err := s.store.Load(ctx, id, minimal)
	if err != nil {
		return View{}, err
	}
	return s.withArtifact(ctx, v)
}

// withArtifact adds the artifacts to a minimal view, which are those of a task that completed before: seldom, since a
// write of such a task is only a repetition.
func (s *Service) withArtifact(ctx context.Context, v View) (View, error) {
	if !v.Minimal || v.Artifacts == 0 {
		return v, nil
	}
	page, _, err := s.store.History(ctx, v.ID, v.Artifacts-1, 1)
	if err != nil {
		return View{}, err
	}
	for i := range page {
		v.Artifact = &page[i]
	}
	return v, nil
}

// Read returns a task that the viewer may see. Errors: ErrNotFound, ErrUnavailable.
func (s *Service) Read(ctx context.Context, viewer Viewer, id ID, minimal bool) (View, error) {
	return s.store.LoadFor(ctx, viewer, id, minimal)
}

// Wait returns as Read does, but not before the task left Submitted and Working, or the time is up.
func (s *Service) Wait(ctx context.Context, viewer Viewer, id ID, most time.Duration) (View, error) {
	deadline := s.now().Add(most)
	for pause := firstPoll; ; pause = min(pause*3/2, lastPoll) {
		left := deadline.Sub(s.now())
		v, err := s.Read(ctx, viewer, id, left > 0)
		if err != nil || left <= 0 {
			return v, err
		}
		if !v.State.Waiting() {
			return s.Read(ctx, viewer, id, false)
		}
		if err := sleep(ctx, min(pause, left)); err != nil {
			return View{}, err
		}
	}
}

// The polls of a wait: quick at first, since many workers answer at once; then once a second, so that a minute
// costs about as many read units as seconds.
const (
	firstPoll = 100 * time.Millisecond
	lastPoll  = time.Second
)

// History is one page of a task's messages; see Store.History. Errors as for Read.
func (s *Service) History(ctx context.Context, viewer Viewer, id ID, after, limit int) (page []Message, next int, err error) {
	if _, err := s.Read(ctx, viewer, id, true); err != nil {
		return nil, 0, err
	}
	return s.store.History(ctx, id, after, limit)
}

func (s *Service) clock() time.Time { return s.now().UTC().Truncate(time.Millisecond) }

func newMessage(d Draft) Message {
	return Message{
		ID: NewID(), MessageID: d.MessageID, Parts: d.Parts, Metadata: d.Metadata,
		Extensions: d.Extensions, ReferenceTaskIDs: d.ReferenceTaskIDs,
	}
}

// after is the view once a change is accepted, without reading again.
func (v View) after(t Task, c Change) View {
	v.Task = t
	if c.Message != nil && t.Artifacts == c.Number {
		v.Artifact = c.Message
	}
	if v.Minimal || c.Message == nil {
		return v
	}
	if text, ok := c.Message.Text(); ok {
		if c.Cause == CauseSent {
			v.FirstText = text
		}
		if t.ResultChange == c.Number {
			v.LatestText = text
		}
	}
	var cut bool
	v.History, cut = Newest(append(v.History[:len(v.History):len(v.History)], *c.Message))
	v.Truncated = v.Truncated || cut
	return v
}

// The most of a history that an answer carries (contract section 2, "Single-task answers").
const (
	NewestMessages = 100
	NewestBytes    = 1 << 20
)

// Newest keeps the newest of messages in order that an answer carries: as many as fit, at least one; cut says
// whether any was left out.
func Newest(ms []Message) (kept []Message, cut bool) {
	bytes := 0
	for i := len(ms) - 1; i >= 0; i-- {
		bytes += ms[i].Size()
		if newer := len(ms) - 1 - i; newer == NewestMessages || newer > 0 && bytes > NewestBytes {
			return ms[i+1:], true
		}
	}
	return ms, false
}

// Size is the length of what the author gave of the message, as compact JSON; its limit is MaxMessage.
func (m Message) Size() int {
	return Draft{m.MessageID, m.Parts, m.Metadata, m.Extensions, m.ReferenceTaskIDs}.size()
}
