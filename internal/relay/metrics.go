package relay

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"baton/internal/task"
)

// metrics is where lines in CloudWatch's embedded metric format go: a function's output is its log.
var metrics io.Writer = os.Stdout

// SetMetrics sends them elsewhere, for programs that are no function. Before the first relay is made.
func SetMetrics(w io.Writer) { metrics = w }

// metric is one value of a line.
type metric struct {
	Name  string
	Unit  string
	value float64
}

// measure writes a line of metrics in the namespace Baton. properties stand beside them, to be searched for, without
// becoming dimensions, of which each would be paid for.
func measure(properties map[string]any, values ...metric) {
	type directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []metric
	}
	type about struct {
		Timestamp         int64
		CloudWatchMetrics []directive
	}
	line := map[string]any{
		"_aws": about{time.Now().UnixMilli(), []directive{{"Baton", [][]string{{}}, values}}},
	}
	for name, v := range properties {
		line[name] = v
	}
	for _, m := range values {
		line[m.Name] = m.value
	}
	text, err := json.Marshal(line)
	if err == nil {
		fmt.Fprintf(metrics, "%s\n", text)
	}
}

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
	values := []metric{
		{"ChangesRelayed", "Count", float64(done)}, {"ChangesToRetry", "Count", float64(again)},
		{"ChangesFailed", "Count", float64(lost)},
	}
	if !oldestUntold.IsZero() {
		oldest = oldestUntold
	}
	if !oldest.IsZero() {
		values = append(values, metric{"OldestChangeAge", "Milliseconds", float64(time.Since(oldest).Milliseconds())})
	}
	measure(nil, values...)
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// measureSent tells how a bus took events.
func measureSent(organization task.ID, events int, failed bool, took time.Duration) {
	failures := 0.0
	if failed {
		failures = 1
	}
	measure(map[string]any{"organization_id": organization.String()},
		metric{"BusEvents", "Count", float64(events)}, metric{"BusFailures", "Count", failures},
		metric{"BusTime", "Milliseconds", float64(took.Milliseconds())})
}

// measureWaiting tells how many events wait in an organization's log for its bus.
func measureWaiting(organization task.ID, events int64) {
	measure(map[string]any{"organization_id": organization.String()}, metric{"BusEventsWaiting", "Count", float64(events)})
}

// measureGone tells of a bus that is not there.
func measureGone(organization task.ID) {
	measure(map[string]any{"organization_id": organization.String()}, metric{"BusesGone", "Count", 1})
}
