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

// Told queues the deliveries of events that are in the organization's log. An error means that some may not be queued, and
// that all should be told again: a delivery that is queued twice is made once.
func (f *Fan) Told(ctx context.Context, organization task.ID, events []task.Event) error {
	// Read each time, a unit or two for a batch: what happens right after a hook is made must reach it.
	hooks, err := f.hooks.Hooks(ctx, organization)
	if err != nil || len(hooks) == 0 {
		return err
	}
	legacy, err := f.organizations.LegacyEvents(ctx, organization)
	if err != nil {
		return err
	}
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
}
