package directory

import (
	"context"
	"errors"
	"time"

	"baton/internal/task"
)

// Service answers who a caller is and which agent is meant, and changes the directory: the rules beside a Store. All
// methods are safe for concurrent use.
type Service struct {
	store Store
	buses Buses
	mint  Mint
	stage string
	most  Most
	now   func() time.Time

	remember   time.Duration
	principals *cache[Hash, verdict]
	agents     *cache[agentName, Identity]
	touched    *cache[task.ID, struct{}]
}

// Options are what a Service needs besides a Store.
type Options struct {
	Mint Mint
	// Remember is how long an instance trusts what it read of a key and its owner: the longest time that a revoked
	// key still works.
	Remember time.Duration
	Now      func() time.Time
	Most     Most // DefaultMost where it is zero
	// Stage and Buses are needed to make and change organizations only.
	Stage string
	Buses Buses
}

// The most that an instance remembers: about 5 MB of keys and agents.
const cacheSize = 10_000

// NewService returns a service on a store.
func NewService(store Store, o Options) *Service {
	if o.Most == (Most{}) {
		o.Most = DefaultMost
	}
	return &Service{
		most: o.Most, store: store, buses: o.Buses, mint: o.Mint, stage: o.Stage, now: o.Now, remember: o.Remember,
		principals: newCache[Hash, verdict](cacheSize),
		agents:     newCache[agentName, Identity](cacheSize),
		touched:    newCache[task.ID, struct{}](cacheSize),
	}
}

func (s *Service) clock() time.Time { return s.now().UTC().Truncate(time.Millisecond) }

// newID is a UUID that begins with the time (version 7), so that lists by id are in the order of making.
func newID(at time.Time) task.ID {
	id := task.NewID()
	for i, ms := 5, at.UnixMilli(); i >= 0; i-- {
		id[i] = byte(ms)
		ms >>= 8
	}
	id[6] = id[6]&0x0f | 0x70
	return id
}

// retried runs a load, decide and save again while other writes are faster.
func retried(ctx context.Context, try func() error) error {
	for range 10 {
		if err := try(); !errors.Is(err, ErrStale) {
			return err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return task.ErrConflict
}
