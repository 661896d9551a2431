package httpapi

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

type waitWire struct {
	Event    jsontext.Value `json:"event"`
	TimedOut bool           `json:"timed_out"`
	Cursor   string         `json:"cursor"`
}

// WaitEvents serves the endpoint wait-events: the next event, as soon as it is there. It is held for up to 55 s, longer
// than the gateway waits for an answer in one piece: that is why it is one that streams.
func WaitEvents(e *Edge, events Events) StreamHandler {
	return e.streaming("wait-events", func(c *call) (answer, writer, error) {
		p := c.params("type", "identity_id", "aggregate_id", "since", "cursor", "timeout_ms")
		most := time.Duration(p.integer("timeout_ms", 0, 55_000, 25_000)) * time.Millisecond
		r, err := c.reading(p, events, "", "")
		if err == nil && !r.given {
			r.from, err = events.End(c, r.Organization)
		}
		if err != nil {
			return answer{}, nil, err
		}
		found, next, err := events.Wait(c, r.EventQuery, r.from, most)
		if err == nil {
			err = c.still()
		}
		if err != nil {
			return answer{}, nil, err
		}
		body := waitWire{Event: jsontext.Value("null"), TimedOut: found == nil, Cursor: c.sealPosition(next, r.list)}
		if found != nil {
			body.Event = eventWire(*found)
		}
		return answer{status: http.StatusOK, body: &body}, nil, nil
	})
}
