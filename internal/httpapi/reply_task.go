package httpapi

import (
	"net/http"

	"baton/internal/task"
)

type replyBody struct {
	messageBody `json:",inline"`
	Intent      *string `json:"intent"`
	LeaseID     *string `json:"lease_id"`
}

// ReplyTask serves the endpoint reply-task: the worker's word, and what it means. A progress with a lease and without
// a message only renews the lease.
func ReplyTask(e *Edge, tasks Tasks) Handler {
	return e.handler("reply-task", func(c *call) (answer, error) {
		edit, err := c.edit()
		if err != nil {
			return answer{}, err
		}
		var body replyBody
		if err := c.decode(&body, false); err != nil {
			return answer{}, err
		}
		if body.Intent == nil {
			return answer{}, invalid("intent", "is required")
		}
		intent := task.Intent(*body.Intent)
		if _, ok := task.Intents[intent]; !ok {
			return answer{}, invalid("intent", "must be one of progress, ask_caller, complete, fail, reject")
		}
		var lease task.ID
		if body.LeaseID != nil {
			var ok bool
			if lease, ok = task.GivenID(*body.LeaseID); !ok {
				return answer{}, invalid("lease_id", "must be a UUID")
			}
		}
		renewal := intent == task.Progress && body.LeaseID != nil && body.Message == nil && body.Parts == nil
		draft, err := c.draft(body.messageBody, renewal)
		if err != nil {
			return answer{}, err
		}
		if err := c.on(&edit, tasks); err != nil {
			return answer{}, err
		}
		var v task.View
		if renewal {
			v, err = tasks.Renew(c, edit, lease)
		} else {
			v, err = tasks.Reply(c, edit, intent, lease, draft)
		}
		if err != nil {
			return answer{}, err
		}
		return taskAnswer(http.StatusOK, v), nil
	})
}
