package relay

import (
	"time"

	"baton/internal/metrics"
	"baton/internal/task"
)

// measureBatch tells how a batch went: how many changes were told, must come again or are lost to the failure queue, and
// the age of the oldest one still untold, of the oldest told when all were.
func measureBatch(records []*record) {
	var done, again, lost int
	var oldest, oldestUntold time.Time
	for _, rec := range records {
		switch {
		case rec.again:
			again++
			oldestUntold = earlier(oldestUntold, rec.change.At)
		case rec.lost:
			lost++
		default:
			done++
			oldest = earlier(oldest, rec.change.At)
		}
	}
	values := []metrics.Value{metrics.ChangesRelayed.Of(float64(done))}
	if again > 0 {
		values = append(values, metrics.ChangesToRetry.Of(float64(again)))
	}
	if lost > 0 {
		values = append(values, metrics.ChangesFailed.Of(float64(lost)))
	}
	if !oldestUntold.IsZero() {
		oldest = oldestUntold
	}
	now := time.Now()
	if !oldest.IsZero() {
		values = append(values, metrics.OldestChangeAge.Of(float64(now.Sub(oldest).Milliseconds())))
	}
	metrics.Write(now, nil, values...)
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// measureSent tells how a bus took events.
func measureSent(organization task.ID, events int, failed bool, took time.Duration) {
	values := []metrics.Value{metrics.BusEvents.Of(float64(events)), metrics.BusTime.Of(float64(took.Milliseconds()))}
	if failed {
		values = append(values, metrics.BusFailures.Of(1))
	}
	metrics.Write(time.Now(), of(organization), values...)
}

// measureWaiting tells how many events wait in an organization's log for its bus.
func measureWaiting(organization task.ID, events int64) {
	metrics.Write(time.Now(), of(organization), metrics.BusEventsWaiting.Of(float64(events)))
}

// measureGone tells of a bus that is not there.
func measureGone(organization task.ID) {
	metrics.Write(time.Now(), of(organization), metrics.BusesGone.Of(1))
}

func of(organization task.ID) any {
	return map[string]any{"organization_id": organization.String()}
}
