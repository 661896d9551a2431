package task

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// claimFrom is how many of the longest unchanged tasks a claimer may take one of. One that always took the oldest
	// would meet all the others there.
	claimFrom = 50
	// claimTries is how often a claimer that lost all of them to others looks again.
	claimTries = 3
)

// Claim gives the worker up to most tasks that are free, each for a while of the given length, and to nobody else: new
// ones of the longest unchanged, and those whose lease ran out. It begins at a random one. When there is none it looks
// again until wait is over; then the answer is empty. Each view is whole, and its Lease is what the claimer must name.
// Errors: ErrUnavailable, and then nothing is claimed that the caller was told of.
func (s *Service) Claim(ctx context.Context, worker Viewer, most int, length, wait time.Duration) ([]View, error) {
	deadline := s.now().Add(wait)
	for pause := firstPoll; ; pause = min(pause*3/2, lastPoll) {
		for range claimTries {
			free, err := s.store.Claimable(ctx, worker.Identity, claimFrom, s.clock())
			if err != nil {
				return nil, err
			}
			claimed, err := s.claimSome(ctx, free, most, length)
			if err != nil || len(claimed) > 0 {
				return claimed, err
			}
			if len(free) == 0 {
				break
			}
		}
		left := deadline.Sub(s.now())
		if left <= 0 {
			return nil, nil
		}
		if err := sleep(ctx, min(pause, left)); err != nil {
			return nil, err
		}
	}
}

// claimSome claims up to most of the free tasks, as many at a time as are still wanted.
func (s *Service) claimSome(ctx context.Context, free []View, most int, length time.Duration) (claimed []View, err error) {
	if len(free) == 0 {
		return nil, nil
	}
	start := rand.IntN(len(free))
	free = append(free[start:len(free):len(free)], free[:start]...)
	for len(free) > 0 && len(claimed) < most && err == nil {
		batch := free[:min(len(free), most-len(claimed))]
		free = free[len(batch):]
		got, errs := make([]View, len(batch)), make([]error, len(batch))
		var tries sync.WaitGroup
		for i, v := range batch {
			tries.Go(func() { got[i], errs[i] = s.claimOne(ctx, v.ID, length) })
		}
		tries.Wait()
		for i := range batch {
			switch {
			case errs[i] == nil:
				claimed = append(claimed, got[i])
			case !lostToAnother(errs[i]):
				err = errs[i]
			}
		}
	}
	if len(claimed) > 0 {
		return claimed, nil // what was claimed must be told: nobody else gets it before its lease ends
	}
	return nil, err
}

func (s *Service) claimOne(ctx context.Context, id ID, length time.Duration) (View, error) {
	v, err := s.store.Load(ctx, id, false)
	if err != nil {
		return View{}, err
	}
	t, change, err := v.claim(NewID(), length, s.clock())
	if err != nil {
		return View{}, err
	}
	token, err := s.store.Save(ctx, v, t, change)
	if err != nil {
		return View{}, err
	}
	v = v.after(t, change)
	v.Token = token
	return v, nil
}

// lostToAnother says that a task is not there to be claimed any more, which is no failure of the claim.
func lostToAnother(err error) bool {
	return errors.Is(err, ErrStale) || errors.Is(err, ErrTransition) || errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound)
}
