package webhook

import (
	"context"
	"sync"
	"time"

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
	now           func() time.Time

	mu    sync.Mutex
	known map[task.ID]wishes
}

// wishes are what an organization wants, remembered for a minute.
type wishes struct {
	hooks  []Hook
	legacy bool
	until  time.Time
}

// remembered is how long a new or changed hook may not be noticed.
const remembered = 30 * time.Second

// NewFan returns a fan.
func NewFan(hooks HookStore, organizations Organizations, queue Queue, now func() time.Time) *Fan {
	return &Fan{hooks: hooks, organizations: organizations, queue: queue, now: now, known: map[task.ID]wishes{}}
}

// Told queues the deliveries of events that are in the organization's log. An error means that some may not be queued, and
// that all should be told again: a delivery that is queued twice is made once.
func (f *Fan) Told(ctx context.Context, organization task.ID, events []task.Event) error {
	w, err := f.wishes(ctx, organization)
	if err != nil || len(w.hooks) == 0 {
		return err
	}
	var jobs []Job
	for _, e := range events {
		for _, h := range w.hooks {
			for _, t := range h.Types(e.Type, e.Identity, w.legacy) {
				jobs = append(jobs, Job{organization, h.ID, e.ID, t, e.Sequence, 0})
			}
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	return f.queue.Put(ctx, 0, jobs...)
}

func (f *Fan) wishes(ctx context.Context, organization task.ID) (wishes, error) {
	now := f.now()
	f.mu.Lock()
	w, ok := f.known[organization]
	f.mu.Unlock()
	if ok && now.Before(w.until) {
		return w, nil
	}
	hooks, err := f.hooks.Hooks(ctx, organization)
	if err != nil {
		return wishes{}, err
	}
	w = wishes{hooks: hooks, until: now.Add(remembered)}
	if len(hooks) > 0 {
		if w.legacy, err = f.organizations.LegacyEvents(ctx, organization); err != nil {
			return wishes{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	const most = 10_000
	if len(f.known) >= most {
		clear(f.known)
	}
	f.known[organization] = w
	return w, nil
}
