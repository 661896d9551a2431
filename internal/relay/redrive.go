package relay

import (
	"context"
	"fmt"

	"baton/internal/task"
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
