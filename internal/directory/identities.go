package directory

import (
	"context"
	"errors"

	"baton/internal/task"
)

// CreateIdentity makes an agent of the principal's organization, or returns the one that was made with the same Once. What
// the edit leaves open is: A2A on, not discoverable, messages deduplicated. Errors: ErrForbidden, a task.Invalid,
// ErrHandleTaken, ErrManyIdentities, ErrManyHandles, ErrUnavailable.
func (s *Service) CreateIdentity(ctx context.Context, p Principal, e IdentityEdit) (Identity, error) {
	if e.Handle == nil {
		return Identity{}, task.Invalid{{Field: "handle", Message: "is required"}}
	}
	now := s.clock()
	i, err := e.apply(Identity{
		ID: newID(now), Organization: Organization{ID: p.Organization}, A2AEnabled: true, DeduplicateMessages: true,
		Made: e.Once.mark(p.Organization), CreatedAt: now, UpdatedAt: now, Version: 1,
	})
	switch {
	case err != nil:
		return Identity{}, err
	case !p.May(WriteIdentities):
		return Identity{}, ErrForbidden
	}
	err = s.store.CreateIdentity(ctx, i, s.most.Identities)
	if i.Made != "" && errors.Is(err, ErrHandleTaken) {
		if there, err := s.store.Identity(ctx, Ref{Handle: i.Handle}); err == nil && there.Made == i.Made && !there.Deleted {
			return there, nil
		}
	}
	return i, err
}

// Identity finds the agent that a path names, as it stands now. Errors as for Agent, but ErrForbidden also for a key
// without the right to read identities.
func (s *Service) Identity(ctx context.Context, p Principal, name string) (Identity, error) {
	ref, ok := ParseRef(name)
	if !ok || p.Kind == Operator {
		return Identity{}, ErrNotFound
	}
	i, err := s.store.Identity(ctx, ref)
	return guard(p, i, err)
}

// Identities is a page of the principal's organization's agents, oldest first, deleted ones left out; an agent's key
// sees its own alone. A page may be short or empty and still not be the last; last is what to give as after for the
// next one, zero when there is none. Errors: ErrForbidden, ErrUnavailable.
func (s *Service) Identities(ctx context.Context, p Principal, after task.ID, limit int) (page []Identity, last task.ID, err error) {
	if !p.May(ReadIdentities) {
		return nil, task.ID{}, ErrForbidden
	}
	if p.Kind == Agent {
		i, err := s.store.Identity(ctx, Ref{ID: p.Identity})
		if i, err = guard(p, i, err); err != nil || !after.IsZero() {
			return nil, task.ID{}, err
		}
		return []Identity{i}, task.ID{}, nil
	}
	all, more, err := s.store.Identities(ctx, p.Organization, after, limit)
	if err != nil {
		return nil, task.ID{}, err
	}
	for _, i := range all {
		if !i.Deleted {
			page = append(page, i)
		}
	}
	if more {
		last = all[len(all)-1].ID
	}
	return page, last, nil
}

// DeleteIdentity ends an agent: its keys stop, nobody finds it, its handles stay taken. Its open tasks are ended in the
// background, see Sweeper. Errors as for Identity, and ErrForbidden, ErrConflict.
func (s *Service) DeleteIdentity(ctx context.Context, p Principal, name string) error {
	return retried(ctx, func() error {
		was, err := s.Identity(ctx, p, name)
		if err != nil {
			return err
		}
		if !p.May(WriteIdentities) {
			return ErrForbidden
		}
		now := was
		now.Deleted, now.UpdatedAt = true, s.clock()
		now.Version++
		return s.store.SaveIdentity(ctx, was, now, Job{Kind: EndTasks, About: now.ID, CreatedAt: s.clock()})
	})
}

// EditIdentity changes an agent; its own key may edit all of the profile but the handle. Errors as for Identity, and
// ErrForbidden, a task.Invalid, ErrHandleTaken, ErrManyHandles, ErrConflict.
func (s *Service) EditIdentity(ctx context.Context, p Principal, name string, e IdentityEdit) (now Identity, err error) {
	if _, err := e.apply(Identity{}); err != nil {
		return Identity{}, err
	}
	err = retried(ctx, func() error {
		was, err := s.Identity(ctx, p, name)
		if err != nil {
			return err
		}
		if !p.May(EditProfile) || e.Handle != nil && !p.May(WriteIdentities) {
			return ErrForbidden
		}
		if now, err = e.apply(was); err != nil {
			return err
		}
		now.UpdatedAt = s.clock()
		now.Version++
		return s.store.SaveIdentity(ctx, was, now)
	})
	return now, err
}
