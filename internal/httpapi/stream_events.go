package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"baton/internal/task"
)

const (
	// idleAfter is when a stream without events says that it is alive; the gateway ends one after 5 minutes of silence
	// (AWS, "Response streaming for Lambda proxy integrations").
	idleAfter = 15 * time.Second
	// endBefore is how long before its function's end a stream ends by itself.
	endBefore = 20 * time.Second
	// streamedAtMost is how long a stream lasts whose function has no end.
	streamedAtMost = 14 * time.Minute
)

// StreamEvents serves the endpoint stream-events: server-sent events (WHATWG, "Server-sent events"), each with the
// cursor behind it as its id. A client that was cut off comes again with the last one as Last-Event-ID. The first id comes
// before any event, so that one which is cut off in silence has a place to come back to.
func StreamEvents(e *Edge, events Events) StreamHandler {
	return e.streaming("stream-events", func(c *call) (answer, writer, error) {
		p := c.params("type", "identity_id", "aggregate_id", "since", "cursor")
		r, err := c.reading(p, events, c.header["last-event-id"], "Last-Event-ID")
		if err == nil && !r.given {
			r.from, err = events.End(c, r.Organization)
		}
		if err != nil {
			return answer{}, nil, err
		}
		// A position that is too old must be refused while there still is a status to be set.
		if err := events.Kept(r.from); err != nil {
			return answer{}, nil, err
		}
		header := map[string]string{"Content-Type": "text/event-stream"}
		return answer{status: http.StatusOK, header: header}, func(ctx context.Context, w io.Writer) error {
			return c.tell(ctx, w, events, r)
		}, nil
	})
}

// tell writes events until it is time to end, and then when to come again.
func (c *call) tell(ctx context.Context, w io.Writer, events Events, r reading) error {
	const comeAgain = "retry: 1000\n"
	if _, err := fmt.Fprintf(w, "%sid: %s\n\n", comeAgain, c.sealPosition(r.from, r.list)); err != nil {
		return err
	}
	until := c.edge.Now().Add(streamedAtMost)
	if deadline, ok := ctx.Deadline(); ok {
		until = deadline.Add(-endBefore)
	}
	if c.edge.Buffered {
		// Nothing arrives before all does: what there is, or the first that comes.
		if _, _, err := events.Wait(ctx, r.EventQuery, r.from, heldAtMost); err != nil {
			return err
		}
		until = c.edge.Now()
	}
	err := events.Follow(ctx, r.EventQuery, r.from, until, idleAfter, func(e *task.Event, behind task.Position) error {
		if err := c.still(); err != nil {
			return err
		}
		cursor := c.sealPosition(behind, r.list)
		if e == nil {
			_, err := fmt.Fprintf(w, ": nothing new\nid: %s\n\n", cursor)
			return err
		}
		_, err := fmt.Fprintf(w, "id: %s\nevent: %s\ndata: %s\n\n", cursor, e.Type, eventWire(*e))
		return err
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, ": come again\n"+comeAgain+"\n")
	return err
}
