package localaws

import (
	"sync"
	"time"
)

// Clock is the real time, which a test can put forward. The zero value is right as it is; safe for concurrent use.
type Clock struct {
	mu   sync.Mutex
	skip time.Duration
}

// Now is what a service is given as its clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skip)
}

// Forward skips some time. A clock never goes back.
func (c *Clock) Forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skip += d
}
