package httpapi

import (
	"encoding/binary"
	"net/http"
)

// ListMessages serves the endpoint list-messages: a page of a task's whole history, oldest first.
func ListMessages(e *Edge, tasks Tasks) Handler {
	return e.handler("list-messages", func(c *call) (answer, error) {
		viewer, err := c.viewer()
		if err != nil {
			return answer{}, err
		}
		p := c.params("limit", "cursor")
		limit := p.limit()
		list := c.listName(viewer.Identity)
		position := c.position(p, list)
		if err := p.err(); err != nil {
			return answer{}, err
		}
		if c.forbidden { // whether there is such a task is not for this caller to know
			return answer{}, c.may()
		}
		id, err := c.taskID()
		if err != nil {
			return answer{}, err
		}
		after := 0
		if len(position) == 4 {
			after = int(binary.BigEndian.Uint32(position))
		}
		page, next, err := tasks.History(c, viewer, id, after, limit)
		if err != nil {
			return answer{}, err
		}
		if err := c.may(); err != nil {
			return answer{}, err
		}
		var end []byte
		if next != 0 {
			end = binary.BigEndian.AppendUint32(nil, uint32(next))
		}
		return answer{status: http.StatusOK, body: &pageWire[messageWire]{messagesWire(page), c.seal(end, list)}}, nil
	})
}
