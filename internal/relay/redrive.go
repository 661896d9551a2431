package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"baton/internal/store"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Redrive tells of one change again, as it stands in the table: one that had failed, once its cause is mended. What was
// told before isn't logged twice.
func (r *Relay) Redrive(ctx context.Context, id task.ID, number int) error {
	change, err := r.changes.Change(ctx, id, number)
	if err != nil {
		return fmt.Errorf("relay: redrive change %d of task %s: %w", number, id, err)
	}
	rec := &record{number: "redrive", change: change}
	r.tell(ctx, []*record{rec})
	if rec.again || rec.lost {
		return fmt.Errorf("relay: redrive change %d of task %s: failed again", number, id)
	}
	return nil
}

// Finder finds the changes of a span of time, both ends included, those of one task in their order.
type Finder func(ctx context.Context, from, to time.Time, yield func(id task.ID, number int) error) error

// ChangesIn finds changes in the table tasks, all of which it reads.
func ChangesIn(db dynamodb.ScanAPIClient, table string) Finder {
	return func(ctx context.Context, from, to time.Time, yield func(task.ID, int) error) error {
		return store.ChangesBetween(ctx, db, table, from, to, yield)
	}
}

// slack is by how much a change may be older than its arrival in the stream, and clocks may differ.
const slack = 5 * time.Minute

// RedriveFailure tells of what failed. A batch that was never told is known only by the time of its arrival, and the
// stream has forgotten it: then every change of that time is told.
func (r *Relay) RedriveFailure(ctx context.Context, f Failure, find Finder) error {
	switch {
	case !f.Task.IsZero():
		return r.Redrive(ctx, f.Task, f.Number)
	case f.First.IsZero():
		return errors.New("relay: a failure that names no change can't be redriven: look at its record in the log")
	}
	return find(ctx, f.First.Add(-slack), f.Last.Add(slack), func(id task.ID, number int) error {
		return r.Redrive(ctx, id, number)
	})
}
