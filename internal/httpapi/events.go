package httpapi

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"time"

	"baton/internal/envelope"
	"baton/internal/task"

	"github.com/go-json-experiment/json/jsontext"
)

// Events is what the edge asks of the organizations' logs; task.Events implements it.
type Events interface {
	Since(ctx context.Context, organization task.ID, since time.Time) (task.Position, error)
	End(ctx context.Context, organization task.ID) (task.Position, error)
	Kept(p task.Position) error
	Page(ctx context.Context, q task.EventQuery, from task.Position, limit int) (page []task.Event, next task.Position, atEnd bool, err error)
	Wait(ctx context.Context, q task.EventQuery, from task.Position, most time.Duration) (*task.Event, task.Position, error)
	Follow(ctx context.Context, q task.EventQuery, from task.Position, until time.Time, idle time.Duration, tell func(*task.Event, task.Position) error) error
}

// reading is what the three ways to read events have in common: which ones, and from where.
type reading struct {
	task.EventQuery
	from  task.Position
	given bool // from was named by a cursor or a time
	list  string
}

// reading takes the filters and the position of the query. resume is a cursor that comes by another way than the
// parameter, and wins; field is what it is called there.
//
// A cursor is of one caller and one set of filters, but any of the routes takes it. since is not among these filters:
// the cursor knows it.
func (c *call) reading(p *params, events Events, resume, field string) (r reading, err error) {
	r.Organization = c.principal.Organization
	if r.Identity, err = c.reader(p); err != nil {
		return reading{}, err
	}
	r.Type = oneOf(p, "type", task.EventTypes...)
	r.Task = p.id("aggregate_id")
	since := p.time("since")
	r.list = c.eventsName(r.Identity)
	if resume == "" {
		resume, field = p.query.Get("cursor"), "cursor"
	}
	if field == "cursor" && p.has("cursor") || resume != "" {
		position, err := c.edge.Cursors.Open(resume, r.list)
		if err == nil {
			r.from, err = parsePosition(position)
		}
		if err != nil {
			p.wrong(field, "is not one of these events")
		}
		r.given = true
	}
	if err := p.err(); err != nil {
		return reading{}, err
	}
	if err := c.may(); err != nil {
		return reading{}, err
	}
	if !r.given && p.has("since") {
		r.given = true
		r.from, err = events.Since(c, r.Organization, since)
	}
	return r, err
}

// reader is whose events are asked for, zero for all of the organization.
func (c *call) reader(p *params) (task.ID, error) {
	_, named := c.header["x-act-as-identity"]
	if p.has("identity_id") && !named {
		return c.identityID(p)
	}
	v, err := c.viewer()
	if err != nil {
		return task.ID{}, err
	}
	return v.Identity, c.sameIdentity(p, v.Identity)
}

// eventsName is what a cursor of events is bound to.
func (c *call) eventsName(of task.ID) string {
	filters := maps.Clone(c.query)
	for _, name := range []string{"cursor", "limit", "since", "timeout_ms", "identity_id"} {
		filters.Del(name)
	}
	return fmt.Sprintf("events\x00%s %s %s\x00%s", c.principal.Organization, c.principal.Identity, of, filters.Encode())
}

// sealPosition is the cursor of a position in a log.
func (c *call) sealPosition(p task.Position, list string) string {
	var since int64
	if !p.Since.IsZero() {
		since = p.Since.UnixMicro()
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(p.After))
	b = binary.BigEndian.AppendUint64(b, uint64(p.AsOf.Unix()))
	b = binary.BigEndian.AppendUint64(b, uint64(since))
	return c.edge.Cursors.Seal(b, list)
}

func parsePosition(b []byte) (p task.Position, err error) {
	if len(b) != 24 {
		return task.Position{}, fmt.Errorf("httpapi: a position of %d bytes", len(b))
	}
	p.After = int64(binary.BigEndian.Uint64(b))
	p.AsOf = time.Unix(int64(binary.BigEndian.Uint64(b[8:])), 0)
	if since := int64(binary.BigEndian.Uint64(b[16:])); since != 0 {
		p.Since = time.UnixMicro(since)
	}
	return p, nil
}

func eventWire(e task.Event) jsontext.Value { return envelope.Marshal(e) }
