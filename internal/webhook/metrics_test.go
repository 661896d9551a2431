package webhook_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"baton/internal/metrics"
)

// Not beside others, whose deliveries would be measured too.
func TestDeliveriesAreMeasured(t *testing.T) {
	w := newWorld(t)
	for code, want := range map[int]map[string]float64{
		200: {"DeliveriesMade": 1},
		500: {"DeliveriesFailed": 1},
		410: {"DeliveriesFailed": 1, "DeliveriesParked": 1},
	} {
		w.receivers.answer("r", status(code))
		h := w.one()
		var out bytes.Buffer
		metrics.SetOutput(&out)
		w.handle(w.receive())
		metrics.SetOutput(io.Discard)
		got, found := map[string]float64{}, false
		for line := range bytes.Lines(out.Bytes()) {
			var values map[string]any
			if err := json.Unmarshal(line, &values); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if values["webhook_id"] != h.ID.String() {
				continue
			}
			found = true
			for _, name := range []string{"DeliveriesMade", "DeliveriesFailed", "DeliveriesParked"} {
				if n, ok := values[name].(float64); ok {
					got[name] += n
				}
			}
			if _, timed := values["DeliveryMs"]; !timed {
				t.Errorf("%d: no time in %s", code, line)
			}
		}
		if !found || len(got) != len(want) || got["DeliveriesMade"] != want["DeliveriesMade"] || got["DeliveriesParked"] != want["DeliveriesParked"] {
			t.Errorf("%d: measured %v, want %v", code, got, want)
		}
		w.must(w.service.Delete(t.Context(), w.shop, h.ID))
	}
}
