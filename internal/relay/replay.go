package relay

import (
	"context"
	"fmt"
	"time"

	"baton/internal/store"
	"baton/internal/task"
)

// Replayer puts a span of a log on the bus again.
type Replayer struct {
	log    *store.Log
	buses  *Buses
	legacy *legacy
}

// NewReplayer returns a replayer.
func NewReplayer(log *store.Log, buses *Buses, organizations Organizations) *Replayer {
	return &Replayer{log, buses, newLegacy(organizations)}
}

// Replay puts the entries from one sequence to another, both included, on their organization's bus, marked as replayed,
// in their order. It stops before the time of ctx is up, and next is the first that it did not come to, one more than to
// when it came to all. Entries that are no longer kept or not yet there are passed over. Errors: ErrNoBus,
// task.ErrUnavailable.
func (p *Replayer) Replay(ctx context.Context, organization task.ID, from, to int64) (sent int, next int64, err error) {
	if _, there, err := p.buses.Describe(ctx, organization); err != nil {
		return 0, from, fmt.Errorf("relay: replay: %w: %v", task.ErrUnavailable, err)
	} else if !there {
		return 0, from, ErrNoBus
	}
	legacy, err := p.legacy.wants(ctx, organization)
	if err != nil {
		return 0, from, err
	}
	head, err := p.log.Head(ctx, organization)
	if err != nil {
		return 0, from, err
	}
	last := min(to, head.Sequence)
	for next = from; next <= last; {
		if late(ctx) {
			return sent, next, nil
		}
		entries, err := p.log.Entries(ctx, organization, next-1, int(min(last-next+1, unparkPortion)))
		if err != nil {
			return sent, next, err
		}
		if len(entries) == 0 {
			kept, err := p.log.First(ctx, organization, head.LoggedAt.Add(-task.EventsKept))
			if err != nil || kept <= next {
				return sent, next, err
			}
			next = kept
			continue
		}
		if err := p.log.Texts(ctx, entries); err != nil {
			return sent, next, err
		}
		for i := range entries {
			entries[i].Replay = true
		}
		if failed, why := p.buses.Send(ctx, organization, entries, legacy); failed != 0 {
			return sent + int(failed-next), failed, fmt.Errorf("relay: replay: %w: %v", task.ErrUnavailable, why)
		}
		sent += len(entries)
		next = entries[len(entries)-1].Sequence + 1
	}
	return sent, to + 1, nil
}

// late says whether the time left is only enough to answer.
func late(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < spareTime || ctx.Err() != nil
}
