package httpapi

import "net/http"

// AddMessage serves the endpoint add-message: the requester's further word.
func AddMessage(e *Edge, tasks Tasks) Handler {
	return e.handler("add-message", func(c *call) (answer, error) {
		edit, err := c.edit()
		if err != nil {
			return answer{}, err
		}
		var body messageBody
		if err := c.decode(&body, false); err != nil {
			return answer{}, err
		}
		draft, err := c.draft(body, false)
		if err != nil {
			return answer{}, err
		}
		if err := c.on(&edit, tasks); err != nil {
			return answer{}, err
		}
		v, err := tasks.AddMessage(c, edit, draft)
		if err != nil {
			return answer{}, err
		}
		return taskAnswer(http.StatusOK, v), nil
	})
}
