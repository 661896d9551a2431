package httpapi

import (
	"context"
	"net/http"

	"baton/internal/directory"
	"baton/internal/task"
)

// Identities is what the edge asks of identities; directory.Service implements it.
type Identities interface {
	CreateIdentity(ctx context.Context, p directory.Principal, e directory.IdentityEdit) (directory.Identity, error)
	Identity(ctx context.Context, p directory.Principal, name string) (directory.Identity, error)
	Identities(ctx context.Context, p directory.Principal, after task.ID, limit int) (page []directory.Identity, last task.ID, err error)
	EditIdentity(ctx context.Context, p directory.Principal, name string, e directory.IdentityEdit) (directory.Identity, error)
	DeleteIdentity(ctx context.Context, p directory.Principal, name string) error
}

type identityBody struct {
	Handle              *string     `json:"handle"`
	DisplayName         *string     `json:"display_name"`
	Description         *string     `json:"description"`
	A2AEnabled          *bool       `json:"a2a_enabled"`
	Discoverable        *bool       `json:"discoverable"`
	DeduplicateMessages *bool       `json:"deduplicate_messages"`
	Skills              []skillBody `json:"skills"`
}

type skillBody struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples"`
}

func (b identityBody) edit() directory.IdentityEdit {
	e := directory.IdentityEdit{
		Handle: b.Handle, DisplayName: b.DisplayName, Description: b.Description, A2AEnabled: b.A2AEnabled,
		Discoverable: b.Discoverable, DeduplicateMessages: b.DeduplicateMessages,
	}
	if b.Skills != nil {
		skills := make([]directory.Skill, len(b.Skills))
		for n, s := range b.Skills {
			skills[n] = directory.Skill(s)
		}
		e.Skills = &skills
	}
	return e
}

// ManageIdentities serves the endpoint manage-identities.
func ManageIdentities(e *Edge, identities Identities) Handler {
	return e.handler("manage-identities", func(c *call) (answer, error) {
		if _, one := c.request.PathParameters["agent"]; one {
			return c.oneIdentity(identities)
		}
		if c.request.HTTPMethod == http.MethodGet {
			p := c.params("limit", "cursor")
			list := c.listName(c.principal.Organization)
			limit, after := p.limit(), c.idPosition(p, list)
			if err := p.err(); err != nil {
				return answer{}, err
			}
			page, last, err := identities.Identities(c, c.principal, after, limit)
			return pageOf(c, page, last, list, identityOf), err
		}
		if err := c.noQuery(); err != nil {
			return answer{}, err
		}
		var body identityBody
		if err := c.decode(&body, false); err != nil {
			return answer{}, err
		}
		edit := body.edit()
		var err error
		if edit.Once, err = c.once(); err != nil {
			return answer{}, err
		}
		i, err := identities.CreateIdentity(c, c.principal, edit)
		return answer{status: http.StatusCreated, body: identityOf(i)}, err
	})
}

func (c *call) oneIdentity(identities Identities) (answer, error) {
	i, err := c.orForbidden(identities.Identity(c, c.principal, c.agentName()))
	if err != nil {
		return answer{}, err
	}
	if err := c.noQuery(); err != nil {
		return answer{}, err
	}
	switch c.request.HTTPMethod {
	case http.MethodDelete:
		if err := c.noBody(); err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusNoContent}, identities.DeleteIdentity(c, c.principal, c.agentName())
	case http.MethodPatch:
		var body identityBody
		if err := c.decode(&body, false); err != nil {
			return answer{}, err
		}
		if i, err = identities.EditIdentity(c, c.principal, c.agentName(), body.edit()); err != nil {
			return answer{}, err
		}
	}
	if err := c.may(); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: identityOf(i)}, nil
}
