package directory

import (
	"context"
	"errors"
	"time"

	"baton/internal/task"
)

// NewKeyRequest asks for a key of one of the principal's organization's agents, or of the organization itself: exactly
// one of Identity and Role is set.
type NewKeyRequest struct {
	Identity  string // in any form that ParseRef takes
	Role      Role
	ExpiresAt time.Time // zero for never
	Once      Once
}

// CreateKey makes a key, or returns the one that was made with the same Once. secret is told this once; with a Once, to each
// retry of the day after. Errors: ErrForbidden, a task.Invalid, ErrManyKeys, ErrUnavailable.
func (s *Service) CreateKey(ctx context.Context, p Principal, r NewKeyRequest) (k Key, secret string, err error) {
	owner := Principal{Kind: Org, Organization: p.Organization, Role: r.Role}
	switch {
	case (r.Identity == "") == (r.Role == ""):
		return Key{}, "", task.Invalid{{Field: "identity", Message: "or role must be given, and not both"}}
	case !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(s.clock()):
		return Key{}, "", task.Invalid{{Field: "expires_at", Message: "must be in the future"}}
	case r.Identity != "":
		ref, ok := ParseRef(r.Identity)
		if !ok {
			return Key{}, "", task.Invalid{{Field: "identity", Message: "must be a handle or an id"}}
		}
		i, err := s.store.Identity(ctx, ref)
		if i, err = guard(p, i, err); err != nil {
			return Key{}, "", err
		}
		owner = Principal{Kind: Agent, Organization: p.Organization, Identity: i.ID}
	case r.Role != Viewer && r.Role != Member && r.Role != Admin:
		return Key{}, "", task.Invalid{{Field: "role", Message: "must be viewer, member or admin"}}
	}
	if !p.May(WriteKeys) {
		return Key{}, "", ErrForbidden
	}
	k, secret = s.newKey(owner, r.Once)
	k.ExpiresAt = r.ExpiresAt
	if r.Once == "" {
		return k, secret, s.store.CreateKey(ctx, k, s.most.Keys)
	}
	// An agent's secret and an organization's differ, and either may be what the first time made: one is made only where
	// the other is not.
	same, _ := s.newKey(other(owner), r.Once)
	if err = s.store.CreateKey(ctx, k, s.most.Keys, same.Hash); !errors.Is(err, ErrExists) {
		return k, secret, err
	}
	if k, secret, err = s.madeKey(ctx, owner, r.Once); errors.Is(err, ErrNotFound) {
		k, secret, err = s.madeKey(ctx, other(owner), r.Once)
	}
	return k, secret, err
}

// other is an owner of the other kind in the same organization.
func other(owner Principal) Principal {
	kind := Agent
	if owner.Kind == Agent {
		kind = Org
	}
	return Principal{Kind: kind, Organization: owner.Organization}
}

// madeKey is the key that an owner of this kind got with this Once. Error: ErrNotFound.
func (s *Service) madeKey(ctx context.Context, owner Principal, once Once) (Key, string, error) {
	wanted, secret := s.newKey(owner, once)
	k, err := s.store.KeyByHash(ctx, wanted.Hash)
	if err != nil {
		return Key{}, "", err
	}
	return k, s.told(secret, k.CreatedAt), nil
}

// Keys is a page of the principal's organization's keys, oldest first, revoked ones too; pages as for Identities.
// Errors: ErrForbidden, ErrUnavailable.
func (s *Service) Keys(ctx context.Context, p Principal, after task.ID, limit int) (page []Key, last task.ID, err error) {
	if !p.May(ReadKeys) {
		return nil, task.ID{}, ErrForbidden
	}
	return s.store.Keys(ctx, p.Organization, after, limit)
}

// RevokeKey ends a key of the principal's organization; it may still work for Options.Remember. Revoking again changes
// nothing. Errors: ErrForbidden, ErrNotFound, ErrUnavailable.
func (s *Service) RevokeKey(ctx context.Context, p Principal, id string) error {
	if !p.May(WriteKeys) {
		return ErrForbidden
	}
	key, ok := task.GivenID(id)
	if !ok {
		return ErrNotFound
	}
	return s.store.RevokeKey(ctx, p.Organization, key, s.clock())
}

// newKey makes a key and its secret, not stored yet.
func (s *Service) newKey(owner Principal, once Once) (Key, string) {
	now := s.clock()
	secret := s.mint.New(owner.Kind)
	if once != "" {
		secret = s.mint.Again(owner.Kind, owner.Organization, once)
	}
	owner.KeyID = newID(now)
	return Key{Principal: owner, Hash: NewHash(secret), Hint: Hint(secret), CreatedAt: now}, secret
}
