package httpapi

import (
	"net/http"
	"slices"

	"baton/internal/task"
)

type setBody struct {
	State     *string `json:"state"`
	Result    *string `json:"result"`
	MessageID *string `json:"message_id"`
}

// SetTaskState serves the deprecated endpoint set-task-state: a reply by the name of a state.
func SetTaskState(e *Edge, tasks Tasks) Handler {
	return e.handler("set-task-state", func(c *call) (answer, error) {
		edit, err := c.edit()
		if err != nil {
			return answer{}, err
		}
		var body setBody
		if err := c.decode(&body, false); err != nil {
			return answer{}, err
		}
		var state task.State
		switch {
		case body.State == nil && body.Result == nil:
			return answer{}, invalid("state", "or result must be given")
		case body.State != nil:
			state = task.State(*body.State)
			if state == task.Submitted || state == task.Canceled || !slices.Contains(task.States, state) {
				return answer{}, invalid("state", "must be one of working, input_required, completed, failed, rejected")
			}
		}
		draft, err := c.draft(messageBody{Message: body.Result, MessageID: body.MessageID}, true)
		if err != nil {
			return answer{}, renamed(err, "message", "result")
		}
		if err := c.on(&edit, tasks); err != nil {
			return answer{}, err
		}
		v, err := tasks.Set(c, edit, state, draft)
		if err != nil {
			return answer{}, err
		}
		return deprecated(taskAnswer(http.StatusOK, v)), nil
	})
}

// renamed gives a field of a task.Invalid the name that it has in this request.
func renamed(err error, from, to string) error {
	bad, ok := err.(task.Invalid)
	if !ok {
		return err
	}
	bad = slices.Clone(bad)
	for i := range bad {
		if bad[i].Field == from {
			bad[i].Field = to
		}
	}
	return bad
}
