package relay_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"regexp"
	"testing"
	"time"

	"baton/internal/metrics"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
)

// measured is what is measured while do runs: the sum of each metric, and of each organization's that a line names.
func measured(t *testing.T, do func()) map[string]float64 {
	t.Helper()
	var out bytes.Buffer
	metrics.SetOutput(&out)
	defer metrics.SetOutput(io.Discard)
	do()
	sums := map[string]float64{}
	for line := range bytes.Lines(out.Bytes()) {
		var values map[string]any
		if err := json.Unmarshal(line, &values); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		organization, _ := values["organization_id"].(string)
		for name, v := range values {
			if n, ok := v.(float64); ok {
				sums[name] += n
				sums[name+" of "+organization] += n
			}
		}
	}
	return sums
}

func TestABatchIsMeasured(t *testing.T) {
	w := newWorld(t)
	good, bad := task.NewID(), task.NewID()
	w.listen(good)
	w.listen(bad)
	told, untold := w.talk(good, good).next(task.CauseSent, "x"), w.talk(bad, bad).next(task.CauseSent, "x")
	poison := recordOf(task.NewID(), 1)
	poison.Change.NewImage = map[string]events.DynamoDBAttributeValue{
		"p": poison.Change.Keys["p"], "s": poison.Change.Keys["s"], "poison": events.NewStringAttribute("yes"),
	}
	time.Sleep(50 * time.Millisecond)
	w.faults.On("GetItem").Containing(idBytes(bad)).Refuse()
	got := measured(t, func() { w.deliver(told, untold, poison) })
	if got["ChangesRelayed"] != 1 || got["ChangesToRetry"] != 1 || got["ChangesFailed"] != 1 || got["OldestChangeAge"] < 50 || got["OldestChangeAge"] > 60_000 {
		t.Errorf("measured %v", got)
	}
}

// A bus that takes nothing is a failure of its organization's, and of nobody else's; what waits for it is counted.
func TestABusThatFailsIsMeasured(t *testing.T) {
	w := newWorld(t)
	good, bad := task.NewID(), task.NewID()
	w.listen(good)
	w.listen(bad)
	w.faults.On("PutEvents").Containing(bad.String()).Always().Fail(500, "InternalFailure")
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	got := measured(t, func() {
		w.deliver(w.talk(good, good).next(task.CauseSent, "x"), w.talk(bad, bad).next(task.CauseSent, "x"))
		w.unpark.One(t.Context(), bad)
	})
	if got["BusFailures of "+bad.String()] < 1 || got["BusFailures of "+good.String()] != 0 || got["BusEvents of "+good.String()] != 1 {
		t.Errorf("measured %v", got)
	}
	if got["BusEventsWaiting of "+bad.String()] != 1 {
		t.Errorf("waiting: %v", got)
	}
	for _, line := range []string{"bus parked", "bus refuses"} {
		if !regexp.MustCompile(line + `".*organization_id=` + bad.String() + `.*PutEvents.*InternalFailure`).MatchString(log.String()) {
			t.Errorf("no line %q says why:\n%s", line, log.String())
		}
	}
}
