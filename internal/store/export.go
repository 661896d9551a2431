package store

import (
	"context"

	"baton/internal/directory"
	"baton/internal/task"
)

var (
	_ directory.ExportTasks = (*Tasks)(nil)
	_ directory.ExportLog   = (*Log)(nil)
)

// Position implements directory.ExportTasks.
func (s *Tasks) Position(t task.Task) []byte { return position(t.UpdatedAt, t.ID) }

// Oldest implements directory.ExportLog.
func (l *Log) Oldest(ctx context.Context, organization task.ID) (int64, error) {
	return l.First(ctx, organization, l.now().Add(-task.EventsKept))
}
