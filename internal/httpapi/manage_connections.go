package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"baton/internal/directory"
	"baton/internal/task"
)

// Connections is what the edge asks of connections; directory.Service implements it.
type Connections interface {
	CheckConnect(ctx context.Context, requester directory.Identity, ref directory.Ref, note string) error
	Connect(ctx context.Context, requester directory.Identity, ref directory.Ref, note string) (c directory.Connection, created bool, err error)
	Connection(ctx context.Context, by directory.Identity, id string) (directory.Connection, error)
	Connections(ctx context.Context, q directory.ConnectionQuery) (page []directory.Connection, last task.ID, err error)
	MoveConnection(ctx context.Context, by directory.Identity, id string, to directory.ConnectionState) (directory.Connection, error)
}

type connectBody struct {
	TargetHandle     *string `json:"target_handle"`
	TargetIdentityID *string `json:"target_identity_id"`
	Note             *string `json:"note"`
}

// ManageConnections serves the endpoint manage-connections.
func ManageConnections(e *Edge, connections Connections) Handler {
	return e.handler("manage-connections", func(c *call) (answer, error) {
		switch {
		case c.request.HTTPMethod == http.MethodGet:
			return c.listConnections(connections)
		case strings.HasSuffix(c.route.Path, "/connections"):
			return c.connect(connections)
		}
		by, err := c.actor()
		if err != nil {
			return answer{}, err
		}
		if err := c.noQuery(); err != nil {
			return answer{}, err
		}
		if err := c.noBody(); err != nil {
			return answer{}, err
		}
		if c.forbidden { // whether there is such a connection is not for this caller to know
			return answer{}, c.may()
		}
		id := pathValue(c.request.PathParameters["id"])
		if _, err := connections.Connection(c, by, id); err != nil {
			return answer{}, err
		}
		if err := c.may(); err != nil {
			return answer{}, err
		}
		to := map[string]directory.ConnectionState{
			"approve": directory.Approved, "decline": directory.Declined, "revoke": directory.Revoked,
		}[c.route.Path[strings.LastIndexByte(c.route.Path, '/')+1:]]
		now, err := connections.MoveConnection(c, by, id, to)
		return answer{status: http.StatusOK, body: connectionOf(now)}, err
	})
}

func (c *call) connect(connections Connections) (answer, error) {
	requester, err := c.actor()
	if err != nil {
		return answer{}, err
	}
	if err := c.noQuery(); err != nil {
		return answer{}, err
	}
	var body connectBody
	if err := c.decode(&body, false); err != nil {
		return answer{}, err
	}
	ref, _, err := c.target(sendBody{TargetHandle: body.TargetHandle, TargetIdentityID: body.TargetIdentityID})
	if err != nil {
		return answer{}, err
	}
	note := ""
	if body.Note != nil {
		note = *body.Note
	}
	if err := c.may(); err != nil {
		return answer{}, cmp.Or(connections.CheckConnect(c, requester, ref, note), err)
	}
	made, created, err := connections.Connect(c, requester, ref, note)
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return answer{status: status, body: connectionOf(made)}, err
}

func (c *call) listConnections(connections Connections) (answer, error) {
	p := c.params("direction", "state", "limit", "cursor", "identity_id")
	identity, err := c.listed(p)
	if err != nil {
		return answer{}, err
	}
	q := directory.ConnectionQuery{
		Identity:  identity,
		Direction: oneOf(p, "direction", task.Inbound, task.Outbound, task.Both),
		State:     oneOf(p, "state", directory.ConnectionStates...),
		Limit:     p.limit(),
	}
	list := c.listName(identity)
	q.After = c.idPosition(p, list)
	if err := p.err(); err != nil {
		return answer{}, err
	}
	if err := c.may(); err != nil {
		return answer{}, err
	}
	page, last, err := connections.Connections(c, q)
	return pageOf(c, page, last, list, connectionOf), err
}
