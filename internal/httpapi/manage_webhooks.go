package httpapi

import (
	"context"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"

	"baton/internal/directory"
	"baton/internal/task"
	"baton/internal/webhook"
)

// Webhooks is what the edge asks of webhooks; webhook.Service implements it.
type Webhooks interface {
	Create(ctx context.Context, organization task.ID, e webhook.Edit) (webhook.Hook, error)
	Hook(ctx context.Context, organization, id task.ID) (webhook.Hook, error)
	Hooks(ctx context.Context, organization task.ID) ([]webhook.Hook, error)
	Edit(ctx context.Context, organization, id task.ID, e webhook.Edit) (webhook.Hook, error)
	Rotate(ctx context.Context, organization, id task.ID, once string) (webhook.Hook, error)
	Delete(ctx context.Context, organization, id task.ID) error
	Deliveries(ctx context.Context, organization, hook task.ID, before int64, limit int) ([]webhook.Delivery, int64, error)
	Redeliver(ctx context.Context, organization, hook, id task.ID) (webhook.Delivery, error)
}

type webhookBody struct {
	URL        *string  `json:"url"`
	Events     []string `json:"events"`
	IdentityID *string  `json:"identity_id"` // empty: every identity of the organization
	Enabled    *bool    `json:"enabled"`
}

// ManageWebhooks serves the endpoint manage-webhooks: an organization's hooks, and what was sent to them. Hooks are the
// organization's: an agent's key has no right to them.
func ManageWebhooks(e *Edge, hooks Webhooks) Handler {
	return e.handler("manage-webhooks", func(c *call) (answer, error) {
		if _, one := c.request.PathParameters["id"]; one {
			return c.oneWebhook(hooks)
		}
		if c.request.HTTPMethod == http.MethodGet {
			return c.listWebhooks(hooks)
		}
		edit, err := c.webhookEdit()
		if err != nil {
			return answer{}, err
		}
		if err := c.may(); err != nil {
			return answer{}, err
		}
		if edit.Once, err = c.messageID(nil); err != nil {
			return answer{}, err
		}
		h, err := hooks.Create(c, c.principal.Organization, edit)
		if err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusCreated, body: webhookWithSecret(h)}, nil
	})
}

func (c *call) oneWebhook(hooks Webhooks) (answer, error) {
	id, known := task.GivenID(pathValue(c.request.PathParameters["id"]))
	of := c.principal.Organization
	if strings.HasSuffix(c.route.Path, "/deliveries") {
		return c.listDeliveries(hooks, id)
	}
	edit, err := c.webhookEdit()
	if err != nil {
		return answer{}, err
	}
	// Whoever may see no hooks at all learns nothing of this one.
	if c.principal.May(directory.ReadWebhooks) {
		if !known {
			return answer{}, webhook.ErrNotFound
		}
		if _, err := hooks.Hook(c, of, id); err != nil {
			return answer{}, err
		}
	}
	if err := c.may(); err != nil {
		return answer{}, err
	}
	var h webhook.Hook
	switch {
	case strings.HasSuffix(c.route.Path, "/redeliver"):
		delivery, _ := task.GivenID(pathValue(c.request.PathParameters["delivery"]))
		d, err := hooks.Redeliver(c, of, id, delivery)
		return answer{status: http.StatusAccepted, body: deliveryOf(d)}, err
	case strings.HasSuffix(c.route.Path, "/rotate-secret"):
		once, err := c.messageID(nil)
		if err != nil {
			return answer{}, err
		}
		h, err = hooks.Rotate(c, of, id, once)
		return answer{status: http.StatusOK, body: webhookWithSecret(h)}, err
	case c.request.HTTPMethod == http.MethodDelete:
		return answer{status: http.StatusNoContent}, hooks.Delete(c, of, id)
	case c.request.HTTPMethod == http.MethodPatch:
		h, err = hooks.Edit(c, of, id, edit)
	default:
		h, err = hooks.Hook(c, of, id)
	}
	return answer{status: http.StatusOK, body: webhookOf(h)}, err
}

// webhookEdit reads the body of the routes that take one, and refuses one for the others.
func (c *call) webhookEdit() (e webhook.Edit, err error) {
	if err := c.noQuery(); err != nil {
		return e, err
	}
	if c.request.HTTPMethod == http.MethodGet {
		return e, nil
	}
	if !strings.HasSuffix(c.route.Path, "/webhooks") && c.request.HTTPMethod != http.MethodPatch {
		return e, c.noBody()
	}
	var body webhookBody
	if err := c.decode(&body, false); err != nil {
		return e, err
	}
	e = webhook.Edit{URL: body.URL, Enabled: body.Enabled}
	if body.Events != nil {
		e.Events = &body.Events
	}
	if body.IdentityID == nil || !c.principal.May(c.route.Right) {
		return e, nil
	}
	e.Identity = new(task.ID)
	if *body.IdentityID == "" {
		return e, nil
	}
	if _, ok := directory.ParseRef(*body.IdentityID); !ok {
		return e, invalid("identity_id", "must be a handle or an identity's id, or empty for all identities")
	}
	i, err := c.edge.Directory.Agent(c, c.principal, *body.IdentityID)
	*e.Identity = i.ID
	return e, err
}

func (c *call) listWebhooks(hooks Webhooks) (answer, error) {
	p := c.params("limit", "cursor")
	list := c.listName(c.principal.Organization)
	limit, after := p.limit(), c.idPosition(p, list)
	if err := p.err(); err != nil {
		return answer{}, err
	}
	if err := c.may(); err != nil {
		return answer{}, err
	}
	all, err := hooks.Hooks(c, c.principal.Organization)
	if err != nil {
		return answer{}, err
	}
	if !after.IsZero() {
		at := slices.IndexFunc(all, func(h webhook.Hook) bool { return h.ID == after })
		all = all[at+1:]
	}
	var last task.ID
	if len(all) > limit {
		all, last = all[:limit], all[limit-1].ID
	}
	return pageOf(c, all, last, list, webhookOf), nil
}

func (c *call) listDeliveries(hooks Webhooks, id task.ID) (answer, error) {
	p := c.params("limit", "cursor")
	list := c.listName(id)
	limit, position, before := p.limit(), c.position(p, list), int64(0)
	if err := p.err(); err != nil {
		return answer{}, err
	}
	if err := c.may(); err != nil {
		return answer{}, err
	}
	if position != nil {
		before = int64(binary.BigEndian.Uint64(position))
	}
	page, next, err := hooks.Deliveries(c, c.principal.Organization, id, before, limit)
	if err != nil {
		return answer{}, err
	}
	wire := &pageWire[*deliveryWire]{Items: make([]*deliveryWire, len(page))}
	for n, d := range page {
		wire.Items[n] = deliveryOf(d)
	}
	if next > 0 {
		wire.NextCursor = c.seal(binary.BigEndian.AppendUint64(nil, uint64(next)), list)
	}
	return answer{status: http.StatusOK, body: wire}, nil
}
