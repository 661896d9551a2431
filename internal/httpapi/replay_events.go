package httpapi

import (
	"context"
	"net/http"

	"baton/internal/task"
)

// Replayer puts a span of a log on the bus again; relay.Replayer implements it. next is the first that it had no time
// for, one more than to when it came to all.
type Replayer interface {
	Replay(ctx context.Context, organization task.ID, from, to int64) (sent int, next int64, err error)
}

type replayRequest struct {
	From *int64 `json:"from_sequence"`
	To   *int64 `json:"to_sequence"`
}

type replayWire struct {
	From int64  `json:"from_sequence"`
	To   int64  `json:"to_sequence"`
	Sent int    `json:"sent"`
	Next *int64 `json:"next_sequence"` // where to go on when there was not the time for all, else null
}

// mostSequence is more than any log will have, and still has a successor.
const mostSequence = 1 << 53

// ReplayEvents serves the endpoint replay-events.
func ReplayEvents(e *Edge, organizations Organizations, replayer Replayer) Handler {
	return e.handler("replay-events", func(c *call) (answer, error) {
		if err := c.ownOrganization(); err != nil {
			return answer{}, err
		}
		if err := c.noQuery(); err != nil {
			return answer{}, err
		}
		var in replayRequest
		if err := c.decode(&in, false); err != nil {
			return answer{}, err
		}
		var wrong task.Invalid
		if in.From == nil || *in.From < 1 {
			wrong = append(wrong, task.FieldError{Field: "from_sequence", Message: "must be a whole number from 1"})
		}
		if in.To == nil || in.From != nil && *in.To < *in.From {
			wrong = append(wrong, task.FieldError{Field: "to_sequence", Message: "must be a whole number from from_sequence"})
		}
		if wrong != nil {
			return answer{}, wrong
		}
		o, err := organizations.Organization(c, c.principal, c.organizationID(), c.route.Right)
		if err != nil {
			return answer{}, err
		}
		ctx, cancel := context.WithTimeout(c, heldAtMost)
		defer cancel()
		to := min(*in.To, mostSequence)
		sent, next, err := replayer.Replay(ctx, o.ID, *in.From, to)
		if err != nil {
			return answer{}, err
		}
		body := replayWire{From: *in.From, To: *in.To, Sent: sent}
		if next <= to {
			body.Next = &next
		}
		return answer{status: http.StatusOK, body: &body}, nil
	})
}
