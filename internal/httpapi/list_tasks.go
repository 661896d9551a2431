package httpapi

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"baton/internal/directory"
	"baton/internal/task"
)

type pageWire[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
}

// ListTasks serves the endpoint list-tasks: a page of an agent's tasks, newest change first; and the deprecated list of
// all of them.
func ListTasks(e *Edge, tasks Tasks) Handler {
	return e.handler("list-tasks", func(c *call) (answer, error) {
		if c.route.Path == "/v1/a2a/tasks" {
			return c.wholeList(tasks)
		}
		p := c.params("direction", "requester_handle", "worker_handle", "state", "context_id", "q", "since",
			"created_since", "limit", "cursor", "identity_id")
		identity, err := c.listed(p)
		if err != nil {
			return answer{}, err
		}
		q := task.Query{
			Identity:     identity,
			Direction:    p.direction(c.route),
			State:        oneOf(p, "state", task.States...),
			Requester:    p.handle("requester_handle"),
			Worker:       p.handle("worker_handle"),
			Context:      p.id("context_id"),
			Text:         p.words(),
			Since:        p.time("since"),
			CreatedSince: p.time("created_since"),
			Limit:        p.limit(),
		}
		list, after, err := c.listFrom(p, identity)
		if err != nil {
			return answer{}, err
		}
		q.After = after
		page, err := tasks.List(c, q)
		if err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusOK, body: &pageWire[taskWire]{itemsWire(page.Items), c.seal(page.Next, list)}}, nil
	})
}

func itemsWire(tasks []task.Task) []taskWire {
	items := make([]taskWire, len(tasks))
	for i, t := range tasks {
		items[i] = itemWire(t)
	}
	return items
}

// leastItem is less than any task of a list takes, in bytes of JSON.
const leastItem = 700

// wholeList is every task of an agent, without filters or pages.
func (c *call) wholeList(tasks Tasks) (answer, error) {
	p := c.params("identity_id")
	identity, err := c.listed(p)
	if err != nil {
		return answer{}, err
	}
	if err := p.err(); err != nil {
		return answer{}, err
	}
	if err := c.may(); err != nil {
		return answer{}, err
	}
	tooLarge := invalid("identity_id", "has more tasks than this deprecated list can hold: use /v1/a2a/tasks/search")
	all := []taskWire{}
	q := task.Query{Identity: identity, Direction: task.Both, Limit: 100}
	for {
		page, err := tasks.List(c, q)
		if err != nil {
			return answer{}, err
		}
		all = append(all, itemsWire(page.Items)...)
		if len(all)*leastItem > mostAnswer {
			return answer{}, tooLarge
		}
		if page.Next == nil {
			return deprecated(answer{
				status: http.StatusOK, header: map[string]string{}, body: &pageWire[taskWire]{all, nil}, tooLarge: tooLarge,
			}), nil
		}
		q.After = page.Next
	}
}

// listed is whose things a list shows: of the agent that the call is made as, or of the one that an organization's key
// names by identity_id.
func (c *call) listed(p *params) (task.ID, error) {
	_, inPath := c.request.PathParameters["agent"]
	_, named := c.header["x-act-as-identity"]
	if p.has("identity_id") && !inPath && !named {
		return c.identityID(p)
	}
	i, err := c.actor()
	if err != nil {
		return task.ID{}, err
	}
	return i.ID, c.sameIdentity(p, i.ID)
}

// identityID is the agent of the query parameter identity_id, as for actor.
func (c *call) identityID(p *params) (task.ID, error) {
	name := p.query.Get("identity_id")
	if _, ok := directory.ParseRef(name); !ok {
		return task.ID{}, invalid("identity_id", "must be a handle or an identity's id")
	}
	i, err := c.orForbidden(c.edge.Directory.Past(c, c.principal, name))
	return i.ID, err
}

// sameIdentity refuses an identity_id that is not of the agent that the call is made as.
func (c *call) sameIdentity(p *params, as task.ID) error {
	if c.forbidden || !p.has("identity_id") {
		return nil
	}
	if i, err := c.edge.Directory.Agent(c, c.principal, p.query.Get("identity_id")); errors.Is(err, task.ErrUnavailable) {
		return err
	} else if err != nil || i.ID != as {
		return invalid("identity_id", "and the agent that the call is made as must be the same")
	}
	return nil
}

// direction is the filter of that name, whose default the path says (contract section 3).
func (p *params) direction(r Route) task.Direction {
	switch {
	case r.Side == task.Sent:
		oneOf(p, "direction", task.Outbound)
		return task.Outbound
	case !p.has("direction") && r.Side == task.Received:
		return task.Inbound
	case !p.has("direction"):
		return task.Both
	}
	return oneOf(p, "direction", task.Inbound, task.Outbound, task.Both)
}

// handle is a filter by a party: its handle as recorded, or its id.
func (p *params) handle(name string) string {
	if !p.has(name) {
		return ""
	}
	ref, ok := directory.ParseRef(p.query.Get(name))
	switch {
	case !ok:
		p.wrong(name, "must be a handle or an identity's id")
		return ""
	case ref.Handle == "":
		return ref.ID.String()
	}
	return ref.Handle
}

// words is q, of which the store says whether it has any.
func (p *params) words() string {
	const most = 500
	q := p.query.Get("q")
	if n := len([]rune(q)); p.has("q") && (n < 1 || n > most) {
		p.wrong("q", fmt.Sprintf("has %d characters; it must have 1 to %d", n, most))
	}
	return q
}

// listFrom is the name of the list that is asked for, and the position to go on from, when every parameter is right and
// the caller may see it.
func (c *call) listFrom(p *params, of task.ID) (list string, after []byte, err error) {
	list = c.listName(of)
	after = c.position(p, list)
	if err := p.err(); err != nil {
		return "", nil, err
	}
	return list, after, c.may()
}

// listName is what a cursor is bound to: the caller, the route and the filters.
func (c *call) listName(of task.ID) string {
	var name strings.Builder
	fmt.Fprintf(&name, "%s %s\x00%s %s %s\x00", c.route.Method, c.route.Path, c.principal.Organization, c.principal.Identity, of)
	name.WriteString(pathValue(c.request.PathParameters["id"]) + "\x00")
	filters := maps.Clone(c.query)
	filters.Del("cursor")
	filters.Del("limit")
	name.WriteString(filters.Encode())
	return name.String()
}

// position opens the cursor of the query, nil when none is given.
func (c *call) position(p *params, list string) []byte {
	if !p.has("cursor") {
		return nil
	}
	position, err := c.edge.Cursors.Open(p.query.Get("cursor"), list)
	if err != nil {
		p.wrong("cursor", "is not one of this list")
	}
	return position
}

// seal is the cursor behind a position, null for none.
func (c *call) seal(position []byte, list string) *string {
	if position == nil {
		return nil
	}
	return new(c.edge.Cursors.Seal(position, list))
}
