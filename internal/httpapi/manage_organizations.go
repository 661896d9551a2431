package httpapi

import (
	"context"
	"net/http"
	"strings"

	"baton/internal/directory"
	"baton/internal/task"
)

// Organizations is what the edge asks of organizations; directory.Service implements it.
type Organizations interface {
	CreateOrganization(ctx context.Context, p directory.Principal, e directory.OrganizationEdit) (directory.NewOrganization, error)
	Organization(ctx context.Context, p directory.Principal, id string, wants directory.Right) (directory.Organization, error)
	EditOrganization(ctx context.Context, p directory.Principal, id string, e directory.OrganizationEdit) (directory.Organization, error)
	SuspendOrganization(ctx context.Context, p directory.Principal, id string, suspended bool) (directory.Organization, error)
	PurgeOrganization(ctx context.Context, p directory.Principal, id string) (directory.Organization, error)
}

type organizationBody struct {
	Name         *string `json:"name"`
	Verified     *bool   `json:"verified"`
	AWSAccountID *string `json:"aws_account_id"`
	LegacyEvents *bool   `json:"legacy_events"`
}

func (b organizationBody) edit() directory.OrganizationEdit {
	return directory.OrganizationEdit{Name: b.Name, Verified: b.Verified, AWSAccountID: b.AWSAccountID, LegacyEvents: b.LegacyEvents}
}

// ManageOrganizations serves the endpoint manage-organizations.
func ManageOrganizations(e *Edge, organizations Organizations) Handler {
	return e.handler("manage-organizations", func(c *call) (answer, error) {
		if err := c.ownOrganization(); err != nil {
			return answer{}, err
		}
		if err := c.noQuery(); err != nil {
			return answer{}, err
		}
		if c.request.HTTPMethod == http.MethodGet {
			o, err := organizations.Organization(c, c.principal, c.organizationID(), c.route.Right)
			return organizationAnswer(o, err)
		}
		if strings.HasSuffix(c.route.Path, "/purge") {
			if err := c.noBody(); err != nil {
				return answer{}, err
			}
			o, err := organizations.PurgeOrganization(c, c.principal, c.organizationID())
			return answer{status: http.StatusAccepted, body: organizationOf(o)}, err
		}
		if suspended := strings.HasSuffix(c.route.Path, "/suspend"); suspended || strings.HasSuffix(c.route.Path, "/resume") {
			if err := c.noBody(); err != nil {
				return answer{}, err
			}
			o, err := organizations.SuspendOrganization(c, c.principal, c.organizationID(), suspended)
			return organizationAnswer(o, err)
		}
		var body organizationBody
		if err := c.decode(&body, false); err != nil {
			return answer{}, err
		}
		if c.request.HTTPMethod == http.MethodPatch {
			o, err := organizations.EditOrganization(c, c.principal, c.organizationID(), body.edit())
			return organizationAnswer(o, err)
		}
		edit := body.edit()
		var err error
		if edit.Once, err = c.once(); err != nil {
			return answer{}, err
		}
		made, err := organizations.CreateOrganization(c, c.principal, edit)
		if err != nil {
			return answer{}, err
		}
		wire := organizationOf(made.Organization)
		wire.Key = &firstKeyWire{made.FirstKey.KeyID.String(), string(made.FirstKey.Role), made.Secret}
		return answer{status: http.StatusCreated, body: wire}, nil
	})
}

// once is the caller's own id for what it makes.
func (c *call) once() (directory.Once, error) {
	id, err := c.messageID(nil)
	return directory.Once(id), err
}

func organizationAnswer(o directory.Organization, err error) (answer, error) {
	return answer{status: http.StatusOK, body: organizationOf(o)}, err
}

func (c *call) organizationID() string { return pathValue(c.request.PathParameters["id"]) }

// ownOrganization refuses an organization in the path that the principal may not know of, before its body is looked at.
func (c *call) ownOrganization() error {
	if _, there := c.request.PathParameters["id"]; !there || c.principal.Kind == directory.Operator {
		return nil
	}
	if id, ok := task.GivenID(c.organizationID()); !ok || id != c.principal.Organization {
		return directory.ErrNotFound
	}
	return nil
}
