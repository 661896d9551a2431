package webhook

import (
	"context"

	"baton/internal/task"
)

// Organizations knows which organizations want the older event type too.
type Organizations interface {
	LegacyEvents(ctx context.Context, organization task.ID) (bool, error)
}

// Fan queues a delivery for every hook that wants an event. It writes nothing to a table. Safe for concurrent use.
type Fan struct {
	hooks         HookStore
	organizations Organizations
	queue         Queue
}

// NewFan returns a fan.
func NewFan(hooks HookStore, organizations Organizations, queue Queue) *Fan {
	return &Fan{hooks, organizations, queue}
}

// Listening looks which hooks an organization has, for events that happened before the call. tell queues the deliveries of
// such events, once they are in the organization's log. An error means that some may not be queued, and that all should be
// told again: a delivery that is queued twice is made once.
func (f *Fan) Listening(ctx context.Context, organization task.ID) (tell func(context.Context, []task.Event) error, err error) {
	// Read each time, a unit or two for a batch: what happens right after a hook is made must reach it.
	hooks, err := f.hooks.Hooks(ctx, organization)
	if err != nil {
		return nil, err
	}
	legacy := false
	if len(hooks) > 0 {
		if legacy, err = f.organizations.LegacyEvents(ctx, organization); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, events []task.Event) error {
		var jobs []Job
		for _, e := range events {
			for _, h := range hooks {
				if e.Type == EventDisabled && e.Task == h.ID {
					continue // it can't be told of its own end
				}
				for _, t := range h.Types(e.Type, e.Identity, legacy) {
					jobs = append(jobs, Job{organization, h.ID, e.ID, t, e.Sequence, 0})
				}
			}
		}
		if len(jobs) == 0 {
			return nil
		}
		return f.queue.Put(ctx, 0, jobs...)
	}, nil
}
