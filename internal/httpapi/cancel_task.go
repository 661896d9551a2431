package httpapi

import "net/http"

type cancelBody struct {
	MessageID *string `json:"message_id"`
}

// CancelTask serves the endpoint cancel-task: the requester withdraws its task. On the paths that name the callee a
// task that ended otherwise is as good as canceled.
func CancelTask(e *Edge, workers Workers, tasks Tasks) Handler {
	return e.handler("cancel-task", func(c *call) (answer, error) {
		edit, err := c.edit()
		if err != nil {
			return answer{}, err
		}
		callee, err := c.callee(workers)
		if err != nil {
			return answer{}, err
		}
		var body cancelBody
		if err := c.decode(&body, true); err != nil {
			return answer{}, c.calleeFirst(workers, err)
		}
		messageID, err := c.messageID(body.MessageID)
		if err != nil {
			return answer{}, c.calleeFirst(workers, err)
		}
		edit.Viewer.Target = callee
		if err := c.on(&edit, tasks); err != nil {
			return answer{}, err
		}
		v, err := tasks.Cancel(c, edit, messageID, !callee.IsZero())
		if err != nil {
			return answer{}, err
		}
		return taskAnswer(http.StatusOK, v), nil
	})
}
