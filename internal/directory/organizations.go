package directory

import (
	"context"
	"errors"

	"baton/internal/task"
)

// NewOrganization is what making one gives.
type NewOrganization struct {
	Organization
	FirstKey Key    // of an admin
	Secret   string // the first key's, told this once
}

// CreateOrganization makes an organization with its bus and first admin key, or returns the one that was made with the same
// Once; its key's secret is empty a day after. Where the account has no room for a bus, it is Pending and the organization
// works all the same. Errors: ErrForbidden for all but the operator; a task.Invalid; ErrUnavailable.
func (s *Service) CreateOrganization(ctx context.Context, p Principal, e OrganizationEdit) (NewOrganization, error) {
	if e.Name == nil {
		return NewOrganization{}, task.Invalid{{Field: "name", Message: "is required"}}
	}
	now := s.clock()
	id := newID(now)
	if e.Once != "" {
		id = e.Once.organization()
	}
	o, err := e.apply(Organization{ID: id, CreatedAt: now, Version: 1, Bus: Bus{Name: "baton-" + s.stage + "-" + id.String()}})
	switch {
	case err != nil:
		return NewOrganization{}, err
	case !p.May(RunService):
		return NewOrganization{}, ErrForbidden
	}
	key, secret := s.newKey(Principal{Kind: Org, Organization: id, Role: Admin}, e.Once)
	if e.Once != "" {
		if made, err := s.madeOrganization(ctx, id, key.Hash, secret); !errors.Is(err, ErrNotFound) {
			return made, err
		}
	}
	o.Bus = s.buses.Create(ctx, o)
	var jobs []Job
	if o.Bus.Status == BusPending {
		jobs = []Job{{Kind: MakeBus, About: id, CreatedAt: now}}
	}
	err = s.store.CreateOrganization(ctx, o, key, jobs...)
	switch {
	case errors.Is(err, ErrExists):
		return s.madeOrganization(ctx, id, key.Hash, secret)
	case err != nil:
		return NewOrganization{}, err
	}
	return NewOrganization{o, key, secret}, nil
}

// madeOrganization is what an earlier CreateOrganization made.
func (s *Service) madeOrganization(ctx context.Context, id task.ID, first Hash, secret string) (NewOrganization, error) {
	key, err := s.store.KeyByHash(ctx, first)
	if err != nil {
		return NewOrganization{}, err
	}
	o, err := s.store.Organization(ctx, id)
	return NewOrganization{o, key, s.told(secret, key.CreatedAt)}, err
}

// Organization finds the one that a call names by its id. Errors: ErrNotFound for any but the caller's own, and for a
// malformed id; ErrForbidden; ErrUnavailable.
func (s *Service) Organization(ctx context.Context, p Principal, id string, wants Right) (Organization, error) {
	o, ok := task.GivenID(id)
	if !ok || p.Kind != Operator && o != p.Organization {
		return Organization{}, ErrNotFound
	}
	if !p.May(wants) {
		return Organization{}, ErrForbidden
	}
	return s.store.Organization(ctx, o)
}

// EditOrganization changes an organization; only the operator may say whether it is verified. It is its name that was
// verified: another name, from anybody but the operator, is not. The rights of a new AWS account on the bus are set at
// once. Errors as for Organization, and a task.Invalid, ErrConflict.
func (s *Service) EditOrganization(ctx context.Context, p Principal, id string, e OrganizationEdit) (now Organization, err error) {
	if _, err := e.apply(Organization{}); err != nil {
		return Organization{}, err
	}
	return s.changeOrganization(ctx, p, id, WriteOrg, func(o Organization) (Organization, error) {
		edited, err := e.apply(o)
		if err != nil || p.May(RunService) {
			return edited, err
		}
		stays := o.Verified && edited.Name == o.Name
		if e.Verified != nil && *e.Verified != stays {
			return Organization{}, ErrForbidden
		}
		edited.Verified = stays
		return edited, nil
	})
}

// SuspendOrganization stops an organization's keys, or lets them work again; its data stays. Its agents take
// no more tasks of others: at once where it is looked up, within two minutes everywhere. Only the operator may. Errors as
// for EditOrganization, and ErrTransition for one that is being purged.
func (s *Service) SuspendOrganization(ctx context.Context, p Principal, id string, suspended bool) (Organization, error) {
	return s.changeOrganization(ctx, p, id, RunService, func(o Organization) (Organization, error) {
		if o.Purging && !suspended {
			return Organization{}, ErrTransition
		}
		o.Suspended = suspended
		return o, nil
	})
}

func (s *Service) changeOrganization(
	ctx context.Context, p Principal, id string, wants Right, change func(Organization) (Organization, error),
) (now Organization, err error) {
	err = retried(ctx, func() error {
		was, err := s.Organization(ctx, p, id, wants)
		if err != nil {
			return err
		}
		if now, err = change(was); err != nil {
			return err
		}
		if now.AWSAccountID != was.AWSAccountID && now.Bus.Status != BusPending {
			now.Bus = s.buses.Create(ctx, now)
		}
		if now == was {
			return nil
		}
		now.Version++
		var jobs []Job
		if now.Suspended != was.Suspended {
			jobs = append(jobs, Job{Kind: TellSuspension, About: now.ID, CreatedAt: s.clock()})
		}
		if now.Purging != was.Purging {
			jobs = append(jobs, Job{Kind: Purge, About: now.ID, CreatedAt: s.clock()})
		}
		return s.store.SaveOrganization(ctx, was, now, jobs...)
	})
	return now, err
}
