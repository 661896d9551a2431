package httpapi

import (
	"net/http"

	"baton/internal/task"
)

// ReadContext serves the endpoint read-context: one conversation with its tasks, newest change first.
func ReadContext(e *Edge, tasks Contexts) Handler {
	return e.handler("read-context", func(c *call) (answer, error) {
		viewer, err := c.viewer()
		if err != nil {
			return answer{}, err
		}
		if err := c.params().err(); err != nil {
			return answer{}, err
		}
		if c.forbidden { // whether there is such a context is not for this caller to know
			return answer{}, c.may()
		}
		id, ok := task.GivenID(pathValue(c.request.PathParameters["id"]))
		if !ok {
			return answer{}, task.ErrNotFound
		}
		found, all, err := tasks.ReadContext(c, viewer, id)
		if err != nil {
			return answer{}, err
		}
		if err := c.may(); err != nil {
			return answer{}, err
		}
		w := newContextWire(found)
		w.Tasks = new(itemsWire(all))
		return answer{status: http.StatusOK, body: &w}, nil
	})
}
