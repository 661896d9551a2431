package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"baton/internal/directory"
)

// Finder is what the edge asks to find agents; directory.Service implements it.
type Finder interface {
	Discover(ctx context.Context, q directory.DiscoverQuery) (directory.DiscoverPage, error)
}

type foundWire struct {
	IdentityID   string                `json:"identity_id"`
	Handle       string                `json:"handle"`
	DisplayName  string                `json:"display_name"`
	Description  string                `json:"description"`
	Organization foundOrganizationWire `json:"organization"`
	Skills       []skillWire           `json:"skills"`
	CardURL      *string               `json:"card_url"` // null while no card is served
}

type foundOrganizationWire struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Verified bool   `json:"verified"`
}

// DiscoverAgents serves the endpoint discover-agents: a page of the discoverable agents of all organizations.
func DiscoverAgents(e *Edge, finder Finder) Handler {
	return e.handler("discover-agents", func(c *call) (answer, error) {
		p := c.params("q", "limit", "cursor")
		list := c.listName(c.principal.Organization)
		q := directory.DiscoverQuery{Spread: c.principal.Organization[15], Limit: p.limit(), After: c.position(p, list)}
		if err := p.err(); err != nil {
			return answer{}, err
		}
		if p.has("q") {
			var err error
			if q.Words, err = directory.Words(p.query.Get("q")); err != nil {
				return answer{}, err
			}
		}
		if err := c.may(); err != nil {
			return answer{}, err
		}
		page, err := finder.Discover(c, q)
		if err != nil {
			return answer{}, err
		}
		found := &pageWire[foundWire]{Items: make([]foundWire, len(page.Items)), NextCursor: c.seal(page.Next, list)}
		for n, i := range page.Items {
			found.Items[n] = foundWire{
				IdentityID: i.ID.String(), Handle: i.Handle, DisplayName: i.DisplayName, Description: i.Description,
				Organization: foundOrganizationWire{i.Organization.ID.String(), i.Organization.Name, i.Organization.Verified},
				Skills:       skillsOf(i.Skills), CardURL: c.cardURL(i.Handle),
			}
		}
		return answer{status: http.StatusOK, body: found}, nil
	})
}

// cardRoute serves an agent's A2A card.
const cardRoute = "/a2a/{agent}/.well-known/agent-card.json"

// cardURL is where an agent's card is; nil while the route table has no such route: an address that answers 404 is none.
func (c *call) cardURL(handle string) *string {
	if !slices.ContainsFunc(Routes, func(r Route) bool { return r.Path == cardRoute }) {
		return nil
	}
	return new(c.baseURL() + strings.Replace(cardRoute, "{agent}", handle, 1))
}

// baseURL is where the API is, as the request came to it: the gateway puts its stage, or what a domain maps to it,
// before the path that the routes know.
func (c *call) baseURL() string {
	scheme, host := "https", c.request.RequestContext.DomainName
	if c.header["x-forwarded-proto"] == "http" { // any other is not the gateway's
		scheme = "http"
	}
	if host == "" {
		host = c.header["host"]
	}
	return scheme + "://" + host + strings.TrimSuffix(c.request.RequestContext.Path, c.request.Path)
}
