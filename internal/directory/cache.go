package directory

import (
	"sync"
	"time"
)

// cache remembers answers for a while, and no more than a bounded number of them: it is one function instance's, so
// that what others change is seen when an entry's time is over.
type cache[K comparable, V any] struct {
	most int

	mu      sync.Mutex
	entries map[K]cached[V]
}

type cached[V any] struct {
	value V
	until time.Time
}

func newCache[K comparable, V any](most int) *cache[K, V] {
	return &cache[K, V]{most: most, entries: map[K]cached[V]{}}
}

func (c *cache[K, V]) get(k K, now time.Time) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[k]
	if !ok || !now.Before(e.until) {
		return v, false
	}
	return e.value, true
}

// put remembers; when the cache is full, what is over goes first, and then whatever comes to hand.
func (c *cache[K, V]) put(k K, v V, now, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= c.most {
		for old, e := range c.entries {
			if !now.Before(e.until) {
				delete(c.entries, old)
			}
		}
		for old := range c.entries {
			if len(c.entries) < c.most {
				break
			}
			delete(c.entries, old)
		}
	}
	c.entries[k] = cached[V]{v, until}
}

func (c *cache[K, V]) drop(k K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, k)
}
