package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"baton/internal/directory"
)

// Access is what the edge asks of access rules; directory.Service implements it.
type Access interface {
	Access(ctx context.Context, i directory.Identity) ([]directory.Rule, error)
	CheckAccess(ctx context.Context, drafts []directory.RuleDraft) error
	SetAccess(ctx context.Context, i directory.Identity, drafts []directory.RuleDraft) ([]directory.Rule, error)
}

type accessBody struct {
	Rules []ruleWire `json:"rules"`
}

// ManageAccess serves the endpoint manage-access.
func ManageAccess(e *Edge, access Access) Handler {
	return e.handler("manage-access", func(c *call) (answer, error) {
		i, err := c.actor()
		if err != nil {
			return answer{}, err
		}
		if err := c.noQuery(); err != nil {
			return answer{}, err
		}
		if c.request.HTTPMethod == http.MethodGet {
			if err := c.may(); err != nil {
				return answer{}, err
			}
			rules, err := access.Access(c, i)
			return answer{status: http.StatusOK, body: rulesOf(rules)}, err
		}
		var body accessBody
		if err := c.decode(&body, false); err != nil {
			return answer{}, err
		}
		drafts, err := body.drafts()
		if err != nil {
			return answer{}, err
		}
		if err := c.may(); err != nil {
			return answer{}, cmp.Or(access.CheckAccess(c, drafts), err)
		}
		rules, err := access.SetAccess(c, i, drafts)
		return answer{status: http.StatusOK, body: rulesOf(rules)}, err
	})
}

func (b accessBody) drafts() ([]directory.RuleDraft, error) {
	if b.Rules == nil {
		return nil, invalid("rules", "must be given")
	}
	drafts := make([]directory.RuleDraft, len(b.Rules))
	for n, r := range b.Rules {
		drafts[n] = directory.RuleDraft{Effect: directory.Effect(r.Effect), Verified: r.Verified}
		for _, text := range []struct {
			field    string
			from, to *string
		}{{"organization_id", r.Organization, &drafts[n].Organization}, {"handle", r.Handle, &drafts[n].Handle}} {
			if text.from == nil {
				continue
			}
			if *text.from == "" {
				return nil, invalid(fmt.Sprintf("rules[%d].%s", n, text.field), "must not be empty")
			}
			*text.to = *text.from
		}
	}
	return drafts, nil
}
