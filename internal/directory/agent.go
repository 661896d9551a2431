package directory

import (
	"context"
	"time"

	"baton/internal/task"
)

// Agent finds the agent that a call names, in its path or by X-Act-As-Identity, among those that the principal may act
// as, or look at the things of: an agent's key its own, an org key its organization's (contract section 1). name is in
// any form that ParseRef takes. What it says of the agent and its organization is up to Options.Remember behind.
//
// Errors: ErrForbidden for an agent's key that names another agent of its organization; ErrNotFound for all else,
// deleted agents and malformed names among them; ErrUnavailable.
func (s *Service) Agent(ctx context.Context, p Principal, name string) (Identity, error) {
	ref, ok := ParseRef(name)
	if !ok || p.Kind == Operator {
		return Identity{}, ErrNotFound
	}
	i, err := s.agent(ctx, p.Organization, ref)
	return guard(p, i, err)
}

// Past finds the agent that a list is asked for, as Agent does, and one that was deleted, too, by its id: what it did
// stays to be read by its organization.
func (s *Service) Past(ctx context.Context, p Principal, name string) (Identity, error) {
	ref, ok := ParseRef(name)
	if !ok || p.Kind == Operator {
		return Identity{}, ErrNotFound
	}
	i, err := s.agent(ctx, p.Organization, ref)
	i.Deleted = false
	return guard(p, i, err)
}

// Own is the agent of an agent's key, as Agent finds it. ErrActAsMissing for any other key.
func (s *Service) Own(ctx context.Context, p Principal) (Identity, error) {
	if p.Kind != Agent {
		return Identity{}, ErrActAsMissing
	}
	i, err := s.agent(ctx, p.Organization, Ref{ID: p.Identity})
	return guard(p, i, err)
}

// guard hides from the principal what is not its own.
func guard(p Principal, i Identity, err error) (Identity, error) {
	switch {
	case err != nil:
		return Identity{}, err
	case i.Deleted || i.Organization.ID != p.Organization:
		return Identity{}, ErrNotFound
	case p.Kind == Agent && i.ID != p.Identity:
		return Identity{}, ErrForbidden
	}
	return i, nil
}

// Target finds the agent that a send is for, as it stands now. ErrNotFound when there is none, or no longer: then with
// who it was, who may have been given a task. ErrUnavailable.
func (s *Service) Target(ctx context.Context, ref Ref) (Identity, error) {
	i, err := s.store.Identity(ctx, ref)
	if err == nil && i.Deleted {
		err = ErrNotFound
	}
	return i, err
}

// Admit says whether the worker takes tasks of the requester: nil, or ErrNotAdmitted (contract section 5), or
// ErrUnavailable. It reads nothing where the two profiles decide: same organization, or discoverable and without a deny.
func (s *Service) Admit(ctx context.Context, requester, worker Identity) error {
	switch Glance(requester, worker) {
	case Admitted:
		return nil
	case Refused:
		return ErrNotAdmitted
	}
	connected, rules, err := s.store.Relation(ctx, requester.ID, worker.ID)
	if err != nil {
		return err
	}
	if !Admits(requester, worker, connected, rules) {
		return ErrNotAdmitted
	}
	return nil
}

// agent is an identity of an organization, with it, remembered.
func (s *Service) agent(ctx context.Context, of task.ID, ref Ref) (Identity, error) {
	now := s.clock()
	if i, ok := s.agents.get(agentName{of, ref}, now); ok {
		return i, nil
	}
	return s.fresh(ctx, of, ref, now)
}

// agentName is how an organization's own callers name one of its agents.
type agentName struct {
	organization task.ID
	ref          Ref
}

// fresh is an identity of an organization, with it, as they stand now, and remembers them under every name. One of another
// organization is not found, as fast as one that is nobody's, and each time anew.
func (s *Service) fresh(ctx context.Context, of task.ID, ref Ref, now time.Time) (Identity, error) {
	i, err := s.store.Identity(ctx, ref)
	if err == nil && i.Organization.ID != of {
		err = ErrNotFound
	}
	if err != nil {
		return Identity{}, err
	}
	if i.Organization, err = s.store.Organization(ctx, i.Organization.ID); err != nil {
		return Identity{}, err
	}
	for _, name := range []Ref{ref, {ID: i.ID}, {Handle: i.Handle}} {
		s.agents.put(agentName{of, name}, i, now, now.Add(s.remember))
	}
	return i, nil
}
