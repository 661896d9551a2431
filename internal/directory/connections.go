package directory

import (
	"context"
	"errors"

	"baton/internal/task"
)

// Connect asks, as an agent, for a connection with another. A pair has at most one that is pending or approved,
// whoever of the two asked: it is returned as it stands, and created is false. Errors: a task.Invalid; ErrNotFound for
// an unknown target; ErrNotAdmitted for one that takes no tasks, or has a rule against the requester;
// ErrManyRequests, ErrConflict, ErrUnavailable.
func (s *Service) Connect(ctx context.Context, requester Identity, ref Ref, note string) (c Connection, created bool, err error) {
	target, err := s.asked(ctx, requester, ref, note)
	if err != nil {
		return Connection{}, false, err
	}
	if err := s.hears(ctx, requester, target); err != nil {
		return Connection{}, false, err
	}
	now := s.clock()
	c = Connection{
		ID: newID(now), Requester: requester.Party(), Target: target.Party(), State: Pending, Note: note,
		CreatedAt: now, UpdatedAt: now, Version: 1,
	}
	err = retried(ctx, func() error {
		err := s.store.CreateConnection(ctx, c)
		if !errors.Is(err, ErrExists) {
			created = err == nil
			return err
		}
		live, err := s.store.LiveConnection(ctx, requester.ID, target.ID)
		if errors.Is(err, ErrNotFound) {
			return ErrStale // it ended in between
		}
		if err == nil {
			c = live
		}
		return err
	})
	return c, created, err
}

// CheckConnect is what of Connect comes before the question of who may ask: a task.Invalid, ErrNotFound for an unknown
// target, ErrUnavailable.
func (s *Service) CheckConnect(ctx context.Context, requester Identity, ref Ref, note string) error {
	_, err := s.asked(ctx, requester, ref, note)
	return err
}

func (s *Service) asked(ctx context.Context, requester Identity, ref Ref, note string) (target Identity, err error) {
	if err := checkNote(note); err != nil {
		return Identity{}, err
	}
	if target, err = s.Target(ctx, ref); err != nil {
		return Identity{}, err
	}
	if target.ID == requester.ID {
		return Identity{}, task.Invalid{{Field: "target_handle", Message: "must be another agent"}}
	}
	return target, nil
}

// hears says whether the target listens to the requester at all.
func (s *Service) hears(ctx context.Context, requester, target Identity) error {
	switch {
	case target.Organization.Suspended || !target.A2AEnabled:
		return ErrNotAdmitted
	case requester.Organization.ID == target.Organization.ID || !target.Denies:
		return nil
	}
	_, rules, err := s.store.Relation(ctx, requester.ID, target.ID)
	if err != nil {
		return err
	}
	for _, r := range rules {
		if r.Effect == Deny && r.Matches(requester) {
			return ErrNotAdmitted
		}
	}
	return nil
}

// Connection finds one of an identity's connections. Errors: ErrNotFound, for another's and a malformed id too;
// ErrUnavailable.
func (s *Service) Connection(ctx context.Context, by Identity, id string) (Connection, error) {
	connection, ok := task.GivenID(id)
	if !ok {
		return Connection{}, ErrNotFound
	}
	c, err := s.store.Connection(ctx, connection)
	if err == nil && !c.joins(by.ID) {
		err = ErrNotFound
	}
	if err != nil {
		return Connection{}, err
	}
	return c, nil
}

// MoveConnection approves, declines or revokes a connection, as one of its two identities; a move made already changes
// nothing. Errors: ErrNotFound for any but those two, and for a malformed id; ErrForbidden for the requester's approving
// or declining; ErrTransition; ErrConflict, ErrUnavailable.
func (s *Service) MoveConnection(ctx context.Context, by Identity, id string, to ConnectionState) (now Connection, err error) {
	err = retried(ctx, func() error {
		was, err := s.Connection(ctx, by, id)
		if err != nil {
			return err
		}
		next, done, err := was.becomes(to, by.ID, s.clock())
		if err != nil {
			return err
		}
		now = next
		if done {
			return nil
		}
		return s.store.SaveConnection(ctx, was, next)
	})
	return now, err
}

// ConnectionQuery says which connections of an identity to list. Zero fields don't filter.
type ConnectionQuery struct {
	Identity  task.ID
	Direction task.Direction // Inbound: those in which it was asked
	State     ConnectionState
	After     task.ID // the last of the page before
	Limit     int
}

// Connections is a page of an identity's connections, the newest request first. A page may be short or empty and still
// not be the last; last is the next one's After, zero when there is none.
func (s *Service) Connections(ctx context.Context, q ConnectionQuery) (page []Connection, last task.ID, err error) {
	last = q.After
	for range emptyReads {
		var all []Connection
		if all, last, err = s.store.Connections(ctx, q.Identity, last, q.Limit); err != nil {
			return nil, task.ID{}, err
		}
		for _, c := range all {
			if q.matches(c) {
				page = append(page, c)
			}
		}
		if len(page) > 0 || last.IsZero() {
			break
		}
	}
	return page, last, nil
}

// emptyReads is how often a page is looked for behind connections that the filters leave out: a stranger can take back as
// many requests as it made.
const emptyReads = 10

func (q ConnectionQuery) matches(c Connection) bool {
	asked := c.Target.Identity == q.Identity
	if q.Direction == task.Inbound && !asked || q.Direction == task.Outbound && asked {
		return false
	}
	return q.State == "" || q.State == c.State
}
