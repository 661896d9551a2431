package directory

import (
	"context"
	"errors"
)

// CreateOperatorKey makes a key for the operator. Only the deploy calls it.
func (s *Service) CreateOperatorKey(ctx context.Context) (secret string, err error) {
	k, secret := s.newKey(Principal{Kind: Operator}, "")
	return secret, s.store.CreateKey(ctx, k, 0)
}

// KeepOperatorKey makes sure that the directory knows a secret as the operator's: it may be another directory than the
// one for which the key was made. ErrUnauthenticated when the secret is none of this mint's for an operator, or revoked.
func (s *Service) KeepOperatorKey(ctx context.Context, secret string) error {
	if kind, ok := s.mint.Check(secret); !ok || kind != Operator {
		return ErrUnauthenticated
	}
	k, err := s.store.KeyByHash(ctx, NewHash(secret))
	switch {
	case errors.Is(err, ErrNotFound):
		k, _ = s.newKey(Principal{Kind: Operator}, "")
		k.Hash, k.Hint = NewHash(secret), Hint(secret)
		if err := s.store.CreateKey(ctx, k, 0); !errors.Is(err, ErrExists) {
			return err
		}
		return nil // another deploy was faster
	case err == nil && !k.Good(s.clock()):
		return ErrUnauthenticated
	}
	return err
}

// DropOperatorKey revokes the operator's key of a secret; there may be none.
func (s *Service) DropOperatorKey(ctx context.Context, secret string) error {
	err := s.store.RevokeHash(ctx, NewHash(secret), s.clock())
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
