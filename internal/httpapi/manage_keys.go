package httpapi

import (
	"context"
	"net/http"

	"baton/internal/directory"
	"baton/internal/task"
)

// Keys is what the edge asks of keys; directory.Service implements it.
type Keys interface {
	CreateKey(ctx context.Context, p directory.Principal, r directory.NewKeyRequest) (k directory.Key, secret string, err error)
	Keys(ctx context.Context, p directory.Principal, after task.ID, limit int) (page []directory.Key, last task.ID, err error)
	RevokeKey(ctx context.Context, p directory.Principal, id string) error
}

type keyBody struct {
	Identity  *string `json:"identity"`
	Role      *string `json:"role"`
	ExpiresAt *string `json:"expires_at"`
}

// ManageKeys serves the endpoint manage-keys.
func ManageKeys(e *Edge, keys Keys) Handler {
	return e.handler("manage-keys", func(c *call) (answer, error) {
		switch c.request.HTTPMethod {
		case http.MethodGet:
			p := c.params("limit", "cursor")
			list := c.listName(c.principal.Organization)
			limit, after := p.limit(), c.idPosition(p, list)
			if err := p.err(); err != nil {
				return answer{}, err
			}
			page, last, err := keys.Keys(c, c.principal, after, limit)
			return pageOf(c, page, last, list, keyOf), err
		case http.MethodDelete:
			if err := c.noQuery(); err != nil {
				return answer{}, err
			}
			if err := c.noBody(); err != nil {
				return answer{}, err
			}
			return answer{status: http.StatusNoContent}, keys.RevokeKey(c, c.principal, pathValue(c.request.PathParameters["id"]))
		}
		if err := c.noQuery(); err != nil {
			return answer{}, err
		}
		var body keyBody
		if err := c.decode(&body, false); err != nil {
			return answer{}, err
		}
		request, err := body.request()
		if err != nil {
			return answer{}, err
		}
		if request.Once, err = c.once(); err != nil {
			return answer{}, err
		}
		k, secret, err := keys.CreateKey(c, c.principal, request)
		if err != nil {
			return answer{}, err
		}
		wire := keyOf(k)
		wire.Secret = secret
		return answer{status: http.StatusCreated, body: wire}, nil
	})
}

func (b keyBody) request() (r directory.NewKeyRequest, err error) {
	if b.Identity != nil {
		if _, ok := directory.ParseRef(*b.Identity); !ok {
			return r, invalid("identity", "must be a handle or an identity's id")
		}
		r.Identity = *b.Identity
	}
	if b.Role != nil {
		if r.Role = directory.Role(*b.Role); r.Role == "" {
			return r, invalid("role", "must be viewer, member or admin")
		}
	}
	r.ExpiresAt, err = bodyTime("expires_at", b.ExpiresAt)
	return r, err
}
