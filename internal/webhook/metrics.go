package webhook

import (
	"encoding/json"
	"io"
	"os"
	"time"
)

// metrics is where lines in CloudWatch's embedded metric format go: a function's output is its log.
var metrics io.Writer = os.Stdout

// measure writes what came of a try as a line in CloudWatch's embedded metric format.
func measure(o Outcome, d Delivery) {
	type metric struct {
		Name string `json:"Name"`
		Unit string `json:"Unit"`
	}
	delivered, failed, parked := 0, 0, 0
	if o.Result == Delivered {
		delivered = 1
	} else {
		failed = 1
	}
	if d.Status == Parked {
		parked = 1
	}
	line, err := json.Marshal(map[string]any{
		"_aws": map[string]any{
			"Timestamp": time.Now().UnixMilli(),
			"CloudWatchMetrics": []any{map[string]any{
				"Namespace": "Baton", "Dimensions": [][]string{{}},
				"Metrics": []metric{
					{"DeliveriesMade", "Count"}, {"DeliveriesFailed", "Count"}, {"DeliveriesParked", "Count"},
					{"DeliveryMs", "Milliseconds"},
				},
			}},
		},
		"level": "INFO", "msg": "delivery", "webhook_id": d.Hook.String(), "delivery_id": d.ID.String(), "status": o.Status,
		"problem": o.Problem, "tries": d.Tries,
		"DeliveriesMade": delivered, "DeliveriesFailed": failed, "DeliveriesParked": parked,
		"DeliveryMs": o.Duration.Milliseconds(),
	})
	if err == nil {
		metrics.Write(append(line, '\n'))
	}
}
