package webhook

import (
	"time"

	"baton/internal/metrics"
)

// attempt is what the log says of a try, beside its measurements.
type attempt struct {
	Level    string  `json:"level"`
	Message  string  `json:"msg"`
	Hook     string  `json:"webhook_id"`
	Delivery string  `json:"delivery_id"`
	Status   int     `json:"status"`
	Problem  Problem `json:"problem"`
	Tries    int     `json:"tries"`
}

// measure tells what came of a try.
func measure(o Outcome, d Delivery) {
	values := []metrics.Value{metrics.DeliveryMs.Of(float64(o.Duration.Milliseconds()))}
	if o.Result == Delivered {
		values = append(values, metrics.DeliveriesMade.Of(1))
	} else {
		values = append(values, metrics.DeliveriesFailed.Of(1))
	}
	if d.Status == Parked {
		values = append(values, metrics.DeliveriesParked.Of(1))
	}
	metrics.Write(time.Now(), attempt{
		"INFO", "delivery", d.Hook.String(), d.ID.String(), o.Status, o.Problem, d.Tries,
	}, values...)
}
