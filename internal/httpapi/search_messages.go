package httpapi

import (
	"context"
	"net/http"

	"baton/internal/task"
)

// Searcher is what search-messages asks of tasks; task.Service implements it.
type Searcher interface {
	SearchMessages(ctx context.Context, q task.MessageQuery) (task.MessagePage, error)
}

type foundMessageWire struct {
	messageWire `json:",inline"`
	TaskID      string     `json:"task_id"`
	ContextID   string     `json:"context_id"`
	TaskState   task.State `json:"task_state"`
	Caller      callerWire `json:"caller"`
	Target      partyWire  `json:"target"`
}

// SearchMessages serves the endpoint search-messages: a page of the messages of an agent's tasks, newest first.
func SearchMessages(e *Edge, tasks Searcher) Handler {
	return e.handler("search-messages", func(c *call) (answer, error) {
		p := c.params("q", "task_id", "context_id", "role", "direction", "requester_handle", "worker_handle", "since",
			"limit", "cursor", "identity_id")
		identity, err := c.listed(p)
		if err != nil {
			return answer{}, err
		}
		q := task.MessageQuery{
			Identity:  identity,
			Direction: p.direction(c.route),
			Text:      p.words(),
			Task:      p.id("task_id"),
			Context:   p.id("context_id"),
			Role:      oneOf(p, "role", task.ByCaller, task.ByAgent),
			Requester: p.handle("requester_handle"),
			Worker:    p.handle("worker_handle"),
			Since:     p.time("since"),
			Limit:     p.limit(),
		}
		list, after, err := c.listFrom(p, identity)
		if err != nil {
			return answer{}, err
		}
		q.After = after
		page, err := tasks.SearchMessages(c, q)
		if err != nil {
			return answer{}, err
		}
		items := make([]foundMessageWire, len(page.Items))
		for i, f := range page.Items {
			items[i] = foundMessageWire{
				messageWire: messagesWire([]task.Message{f.Message})[0],
				TaskID:      f.Of.ID.String(), ContextID: f.Of.Context.String(), TaskState: f.Of.State,
				Caller: callerWire{partyOf(f.Of.Caller.Party), f.Of.Caller.Verified, f.Of.TrustTier()},
				Target: partyOf(f.Of.Target),
			}
		}
		return answer{status: http.StatusOK, body: &pageWire[foundMessageWire]{items, c.seal(page.Next, list)}}, nil
	})
}
