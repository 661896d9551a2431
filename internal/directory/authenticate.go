package directory

import (
	"context"
	"errors"
	"sync"
	"time"

	"baton/internal/task"
)

// verdict is what an instance remembers of a key: whose it is, or that it is no good.
type verdict struct {
	principal Principal
	bad       bool
}

// touchEvery is how exact a key's last-used time is: an instance notes a use once in this time.
const touchEvery = time.Hour

// Authenticate says who shows the secret. A secret that this service did not make is refused without a read; one that
// it did, is looked up once per instance and Options.Remember, also when it is no good. Errors: ErrUnauthenticated for
// an unknown, expired or revoked key, one of a deleted identity or a suspended organization; ErrUnavailable.
func (s *Service) Authenticate(ctx context.Context, secret string) (Principal, error) {
	kind, ok := s.mint.Check(secret)
	if !ok {
		return Principal{}, ErrUnauthenticated
	}
	hash, now := NewHash(secret), s.clock()
	v, ok := s.principals.get(hash, now)
	if !ok {
		var until time.Time
		var err error
		if v, until, err = s.lookUp(ctx, hash, now); err != nil {
			return Principal{}, err
		}
		s.principals.put(hash, v, now, until)
	}
	if v.bad || v.principal.Kind != kind {
		return Principal{}, ErrUnauthenticated
	}
	return v.principal, nil
}

// lookUp judges a key by what is stored, and says how long that may be remembered.
func (s *Service) lookUp(ctx context.Context, hash Hash, now time.Time) (v verdict, until time.Time, err error) {
	until = now.Add(s.remember)
	key, err := s.store.KeyByHash(ctx, hash)
	switch {
	case errors.Is(err, ErrNotFound):
		return verdict{bad: true}, until, nil
	case err != nil:
		return verdict{}, until, err
	case !key.Good(now):
		return verdict{bad: true}, until, nil
	}
	if !key.ExpiresAt.IsZero() && key.ExpiresAt.Before(until) {
		until = key.ExpiresAt
	}
	defer s.touch(ctx, key.KeyID, now)()
	if key.Kind == Operator {
		return verdict{principal: key.Principal}, until, nil
	}
	good, err := s.ownerIsGood(ctx, key.Principal, now)
	return verdict{principal: key.Principal, bad: !good}, until, err
}

// ownerIsGood says whether a key's organization, and identity if it has one, still stand. It remembers the identity.
func (s *Service) ownerIsGood(ctx context.Context, p Principal, now time.Time) (bool, error) {
	var owner Identity
	var err error
	if p.Kind == Agent {
		owner, err = s.fresh(ctx, p.Organization, Ref{ID: p.Identity}, now)
	} else {
		owner.Organization, err = s.store.Organization(ctx, p.Organization)
	}
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && !owner.Deleted && !owner.Organization.Suspended, err
}

// touch notes a key's use beside what else is done, once per instance and touchEvery. The returned function waits for
// it. It is best effort: a use that can't be noted is noted by a later one.
func (s *Service) touch(ctx context.Context, key task.ID, now time.Time) (wait func()) {
	if _, done := s.touched.get(key, now); done {
		return func() {}
	}
	s.touched.put(key, struct{}{}, now, now.Add(touchEvery))
	var noting sync.WaitGroup
	noting.Go(func() {
		if s.store.TouchKey(ctx, key, now) != nil {
			s.touched.drop(key)
		}
	})
	return noting.Wait
}
