package directory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"baton/internal/task"
)

// Limits are the throttles and quotas of contract section 5.
type Limits struct {
	SendsPerMinute  int // of one requester
	SendsPerSecond  int // to one worker, as a mean of ten seconds
	OpenTasksAtMost int // of one worker
}

// Limited says that a send is one too many for now.
type Limited struct {
	Quota      bool // of open tasks; otherwise it is a throttle
	RetryAfter time.Duration
}

func (l *Limited) Error() string {
	if l.Quota {
		return fmt.Sprintf("directory: worker has too many open tasks; retry in %s", l.RetryAfter)
	}
	return fmt.Sprintf("directory: too many sends; retry in %s", l.RetryAfter)
}

// Counts are the counters that all instances share. They may lose what a failed call was to add.
type Counts interface {
	// CountSends adds n sends, of a requester or to a worker as the kind says, to those of a span of time that begins at
	// start and has length, and returns how many there are now.
	CountSends(ctx context.Context, kind CountKind, identity task.ID, start time.Time, length time.Duration, n int) (total int, err error)
	// CountReceived adds n sends to those that a worker received since its open tasks were counted.
	CountReceived(ctx context.Context, worker task.ID, n int) (Received, error)
	// SetOpen notes how many open tasks a worker has at a time; sends since are counted from 0.
	SetOpen(ctx context.Context, worker task.ID, open int, at time.Time) error
}

// CountKind is whose sends are counted.
type CountKind string

const (
	ByRequester CountKind = "by"
	ToWorker    CountKind = "to"
)

// Received is what is known of a worker's open tasks: there were Open at the time At, and Since sends came after.
type Received struct {
	Open  int
	At    time.Time
	Since int
}

// OpenTasks counts a worker's open tasks, and stops at most.
type OpenTasks interface {
	CountOpen(ctx context.Context, worker task.ID, most int) (int, error)
}

// Limiter counts sends without a write for each, and without an item that all sends write.
//
// An instance counts for itself, and only adds every so many sends (a twentieth of a throttle, a hundredth of a worker's,
// a two-hundredth of the quota of open tasks) to the shared counter, which tells it the others' part. So a send costs
// nothing until its requester has made a twentieth of what it may in this minute on this instance, and then one more
// write unit for every such portion. What can pass beyond a limit is one portion less one for each instance that serves
// the requester, or the worker, at the same time. When a counter can't be reached, sends pass.
//
// Open tasks are estimated from above, as the last count and all sends since; they are counted anew when the estimate
// reaches the quota, or is an hour old.
type Limiter struct {
	counts Counts
	open   OpenTasks
	limits Limits
	now    func() time.Time

	mu    sync.Mutex // guards what the caches hold too
	spans *cache[spanKey, *span]
	full  *cache[task.ID, *fullness]
}

// NewLimiter returns a limiter of one instance. now is the clock.
func NewLimiter(counts Counts, open OpenTasks, limits Limits, now func() time.Time) *Limiter {
	return &Limiter{
		counts: counts, open: open, limits: limits, now: now,
		spans: newCache[spanKey, *span](cacheSize), full: newCache[task.ID, *fullness](cacheSize),
	}
}

const (
	requesterSpan = time.Minute
	workerSpan    = 10 * time.Second
	recountAfter  = 10 * time.Second // while the estimate is at the quota
	countStands   = time.Hour
)

// Take counts one send, and returns a *Limited if it is one too many. A send that is refused is not counted.
func (l *Limiter) Take(ctx context.Context, requester, worker task.ID) error {
	now := l.now()
	most := l.limits.SendsPerMinute
	if wait := l.takeSpan(ctx, spanKey{ByRequester, requester}, now, requesterSpan, most, max(1, most/20)); wait > 0 {
		return &Limited{RetryAfter: wait}
	}
	most = l.limits.SendsPerSecond * int(workerSpan/time.Second)
	if wait := l.takeSpan(ctx, spanKey{ToWorker, worker}, now, workerSpan, most, max(1, most/100)); wait > 0 {
		return &Limited{RetryAfter: wait}
	}
	if l.isFull(ctx, worker, now) {
		return &Limited{Quota: true, RetryAfter: recountAfter}
	}
	return nil
}

type spanKey struct {
	kind     CountKind
	identity task.ID
}

// span is what an instance knows of the sends in a span of time.
type span struct {
	start time.Time
	known int // the shared counter when it was last told
	own   int // and what this instance did not add yet
}

// takeSpan counts one send and returns how long to wait, zero when it may pass.
func (l *Limiter) takeSpan(ctx context.Context, k spanKey, now time.Time, length time.Duration, most, portion int) time.Duration {
	start := now.UTC().Truncate(length)
	wait := start.Add(length).Sub(now)
	l.mu.Lock()
	s, ok := l.spans.get(k, now)
	if !ok {
		s = &span{start: start}
		l.spans.put(k, s, now, start.Add(length))
	}
	if s.known+s.own >= most {
		l.mu.Unlock()
		return wait
	}
	s.own++
	n := s.own
	if n < portion {
		l.mu.Unlock()
		return 0
	}
	s.known, s.own = s.known+n, 0
	l.mu.Unlock()

	total, err := l.counts.CountSends(ctx, k.kind, k.identity, start, length, n)
	if err != nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.known = max(s.known, total)
	if total > most {
		return wait
	}
	return 0
}

// fullness is what an instance knows of a worker's open tasks.
type fullness struct {
	own  int       // sends that it did not add to the shared counter yet
	till time.Time // full until then
}

// isFull counts one send, and says whether the worker has all the open tasks that it may.
func (l *Limiter) isFull(ctx context.Context, worker task.ID, now time.Time) bool {
	most := l.limits.OpenTasksAtMost
	l.mu.Lock()
	f, ok := l.full.get(worker, now)
	if !ok {
		f = &fullness{}
		l.full.put(worker, f, now, now.Add(24*countStands))
	}
	if now.Before(f.till) {
		l.mu.Unlock()
		return true
	}
	wasFull := !f.till.IsZero()
	f.own++
	n := f.own
	if n < max(1, most/200) && !wasFull {
		l.mu.Unlock()
		return false
	}
	f.own, f.till = 0, time.Time{}
	l.mu.Unlock()

	r, err := l.counts.CountReceived(ctx, worker, n)
	if err != nil {
		return false
	}
	if r.Open+r.Since <= most && now.Sub(r.At) < countStands {
		return false
	}
	open, err := l.open.CountOpen(ctx, worker, most)
	if err != nil || l.counts.SetOpen(ctx, worker, open, now) != nil || open < most {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f.till = now.Add(recountAfter)
	return true
}
