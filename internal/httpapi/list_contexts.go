package httpapi

import (
	"context"
	"net/http"

	"baton/internal/task"
)

// Contexts is what the endpoints of contexts ask of tasks; task.Service implements it.
type Contexts interface {
	Contexts(ctx context.Context, q task.ContextQuery) (task.ContextPage, error)
	ReadContext(ctx context.Context, v task.Viewer, id task.ID) (task.Context, []task.Task, error)
}

type contextWire struct {
	ID            string       `json:"id"`
	Participants  [2]partyWire `json:"participants"`
	TaskCount     int          `json:"task_count"`
	OpenTaskCount int          `json:"open_task_count"`
	CreatedAt     string       `json:"created_at"`
	UpdatedAt     string       `json:"updated_at"`
	Tasks         *[]taskWire  `json:"tasks,omitzero"` // of a single context only
}

func newContextWire(c task.Context) contextWire {
	return contextWire{
		ID: c.ID.String(), Participants: [2]partyWire{partyOf(c.Participants[0]), partyOf(c.Participants[1])},
		TaskCount: c.Tasks, OpenTaskCount: c.OpenTasks, CreatedAt: timestamp(c.CreatedAt), UpdatedAt: timestamp(c.UpdatedAt),
	}
}

// ListContexts serves the endpoint list-contexts: a page of an agent's conversations, newest change first.
func ListContexts(e *Edge, tasks Contexts) Handler {
	return e.handler("list-contexts", func(c *call) (answer, error) {
		p := c.params("limit", "cursor", "identity_id")
		identity, err := c.listed(p)
		if err != nil {
			return answer{}, err
		}
		q := task.ContextQuery{Identity: identity, Limit: p.limit()}
		list, after, err := c.listFrom(p, identity)
		if err != nil {
			return answer{}, err
		}
		q.After = after
		page, err := tasks.Contexts(c, q)
		if err != nil {
			return answer{}, err
		}
		items := make([]contextWire, len(page.Items))
		for i, found := range page.Items {
			items[i] = newContextWire(found)
		}
		return answer{status: http.StatusOK, body: &pageWire[contextWire]{items, c.seal(page.Next, list)}}, nil
	})
}
