package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"baton/internal/task"
)

const (
	// atOnce is how many organizations are seen to at the same time.
	atOnce = 8
	// atMost is how long one of them may take, so that those whose bus does not answer leave time for others.
	atMost = 25 * time.Second
)

// each sees to every organization, each on its own: what goes wrong with one is no other's matter.
func each(ctx context.Context, organizations []task.ID, do func(context.Context, task.ID) error) error {
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	slots := make(chan struct{}, atOnce)
	for _, id := range organizations {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, atMost)
			defer cancel()
			if err := do(ctx, id); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, fmt.Errorf("relay: organization %s: %w", id, err))
			}
		})
	}
	wait.Wait()
	return failed
}
