package directory

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"baton/internal/task"
)

// RuleDraft is an access rule as it is given: exactly one of Organization, Handle and Verified.
type RuleDraft struct {
	Effect       Effect
	Organization string // an id
	Handle       string // in any form that ParseRef takes
	Verified     *bool
}

// Access is an agent's access rules. i is as Agent finds it.
func (s *Service) Access(ctx context.Context, i Identity) ([]Rule, error) {
	return s.store.Rules(ctx, i.ID)
}

// SetAccess replaces an agent's access rules. i is as Agent finds it. Errors: a task.Invalid, that a handle is unknown
// included; ErrNotFound when the agent was deleted; ErrConflict, ErrUnavailable.
func (s *Service) SetAccess(ctx context.Context, i Identity, drafts []RuleDraft) ([]Rule, error) {
	rules, err := s.rules(ctx, drafts)
	if err != nil {
		return nil, err
	}
	denies := false
	for _, r := range rules {
		denies = denies || r.Effect == Deny
	}
	return rules, retried(ctx, func() error {
		was, err := s.store.Identity(ctx, Ref{ID: i.ID})
		if err == nil && was.Deleted {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		now := was
		now.Denies = denies
		now.Version++
		return s.store.SaveRules(ctx, was, now, rules)
	})
}

// CheckAccess is what of SetAccess comes before the question of who may: a task.Invalid, ErrUnavailable.
func (s *Service) CheckAccess(ctx context.Context, drafts []RuleDraft) error {
	_, err := s.rules(ctx, drafts)
	return err
}

// rules checks drafts and finds whom their handles mean.
func (s *Service) rules(ctx context.Context, drafts []RuleDraft) ([]Rule, error) {
	if len(drafts) > MaxRules {
		return nil, task.Invalid{{Field: "rules", Message: fmt.Sprintf("has %d entries, more than %d", len(drafts), MaxRules)}}
	}
	var bad task.Invalid
	rules := make([]Rule, len(drafts))
	for n, d := range drafts {
		refuse := func(field, message string) {
			bad = append(bad, task.FieldError{Field: fmt.Sprintf("rules[%d]%s", n, field), Message: message})
		}
		r := Rule{Effect: d.Effect, Verified: d.Verified}
		if d.Effect != Allow && d.Effect != Deny {
			refuse(".effect", "must be allow or deny")
		}
		given := 0
		if d.Verified != nil {
			given++
		}
		if d.Organization != "" {
			given++
			var ok bool
			if r.Organization, ok = task.GivenID(d.Organization); !ok {
				refuse(".organization_id", "must be a UUID")
			}
		}
		if d.Handle != "" {
			given++
			ref, ok := ParseRef(d.Handle)
			if !ok {
				refuse(".handle", "is no handle")
				continue
			}
			agent, err := s.store.Identity(ctx, ref)
			switch {
			case errors.Is(err, ErrNotFound):
				refuse(".handle", "is nobody's")
			case err != nil:
				return nil, err
			}
			r.Agent, r.Handle = agent.ID, cmp.Or(ref.Handle, agent.Handle)
		}
		if given != 1 {
			refuse("", "must have exactly one of organization_id, handle and verified")
		}
		rules[n] = r
	}
	if bad != nil {
		return nil, bad
	}
	return rules, nil
}
