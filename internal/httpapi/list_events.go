package httpapi

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

type eventsWire struct {
	Items  []jsontext.Value `json:"items"`
	Cursor string           `json:"cursor"` // never null: what comes later is behind it
}

// ListEvents serves the endpoint list-events: a page of the organization's log, oldest first.
func ListEvents(e *Edge, events Events) Handler {
	return e.handler("list-events", func(c *call) (answer, error) {
		p := c.params("type", "identity_id", "aggregate_id", "since", "cursor", "limit")
		limit := p.limit()
		r, err := c.reading(p, events, "", "")
		if err == nil && !r.given {
			r.from, err = events.Since(c, r.Organization, time.Time{})
		}
		if err != nil {
			return answer{}, err
		}
		page, next, _, err := events.Page(c, r.EventQuery, r.from, limit)
		if err != nil {
			return answer{}, err
		}
		body := eventsWire{Items: make([]jsontext.Value, len(page)), Cursor: c.sealPosition(next, r.list)}
		for i, e := range page {
			body.Items[i] = eventWire(e)
		}
		return answer{status: http.StatusOK, body: &body}, nil
	})
}
