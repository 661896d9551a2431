package relay

import (
	"context"
	"log/slog"
	"time"

	"baton/internal/store"
	"baton/internal/task"
)

// Checker notices buses that are gone: PutEvents to such a bus succeeds, and the events are dropped.
type Checker struct {
	log   *store.Log
	buses *Buses
	now   func() time.Time
}

// NewChecker returns a checker. now is the clock.
func NewChecker(log *store.Log, buses *Buses, now func() time.Time) *Checker {
	return &Checker{log, buses, now}
}

// apart is the least time between two looks of which the second proves that what was logged at the first arrived: longer
// than a relay lives, its sending included (30 s, in the template), and shorter than the round's period of a minute.
const apart = 45 * time.Second

// All looks at the bus of every organization to which events went since it was last known to be there.
func (c *Checker) All(ctx context.Context) error {
	organizations, err := c.log.Moved(ctx)
	if err != nil {
		return err
	}
	return each(ctx, organizations, c.One)
}

// One looks at the bus of an organization. When it is gone, or another than before, all that is not known to have
// arrived is parked. When it is there, what was logged at the look before is known to have arrived.
func (c *Checker) One(ctx context.Context, organization task.ID) error {
	head, err := c.log.Head(ctx, organization)
	if err != nil || head.New || head.ParkedFrom != 0 {
		return err
	}
	at := c.now()
	made, there, err := c.buses.Describe(ctx, organization)
	switch {
	case err != nil:
		return err
	case !there:
		slog.WarnContext(ctx, "bus is gone", "organization_id", organization.String(), "from", head.BusOK+1)
		measureGone(organization)
		return c.log.Park(ctx, organization, head.BusOK+1)
	case !made.Equal(head.BusMade):
		// Not known whether it was there when the last entries were sent. A lost race is taken up by the next round.
		slog.WarnContext(ctx, "bus is another", "organization_id", organization.String(), "from", head.BusOK+1)
		_, _, err := c.log.BusReplaced(ctx, head, made)
		return err
	case at.Sub(head.CheckedAt) < apart:
		return nil
	}
	_, _, err = c.log.BusSeen(ctx, head, at)
	return err
}
