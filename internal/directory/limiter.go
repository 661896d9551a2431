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

// Limiter counts sends without a write for each, without an item that all sends write, and without a round trip on a
// send's way.
//
// An instance counts for itself, and only adds every so many sends (a twelfth of a requester's throttle, a fiftieth of a
// worker's, a hundredth of the quota of open tasks) to the shared counter, which tells it the others' part: beside the send
// that makes such a portion full, for those that follow. So a send costs nothing until its requester has made a twelfth of
// what it may in this minute on this instance, and then one more write unit for every such portion: with the limits as
// they come, 0.075 units a send where one requester sends all it may to one worker that gets all it may, and less than 1 %
// of a send's eight. What can pass beyond a limit is one portion for each instance that serves the requester, or the
// worker, at the same time. When a counter can't be reached, sends pass.
//
// Open tasks are estimated from above, as the last count and all sends since; they are counted anew when the estimate
// reaches the quota, or is an hour old. Only while a worker stands at its quota does a send wait for that.
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

// The portions that an instance counts before it tells.
func (l Limits) requesterPortion() int { return max(1, l.SendsPerMinute/12) }
func (l Limits) workerPortion() int    { return max(1, l.workerMost()/50) }
func (l Limits) openPortion() int      { return max(1, l.OpenTasksAtMost/100) }
func (l Limits) workerMost() int       { return l.SendsPerSecond * int(workerSpan/time.Second) }

// Take counts one send, and returns a *Limited if it is one too many. A send that is refused is not counted. What is told
// to the shared counters is told beside, see Beside.
func (l *Limiter) Take(ctx context.Context, requester, worker task.ID) error {
	if err := l.TakeRequest(ctx, requester); err != nil {
		return err
	}
	now := l.now()
	if wait := l.takeSpan(
		ctx, spanKey{ToWorker, worker}, now, workerSpan, l.limits.workerMost(), l.limits.workerPortion(),
	); wait > 0 {
		return &Limited{RetryAfter: wait}
	}
	if l.isFull(ctx, worker, now) {
		return &Limited{Quota: true, RetryAfter: recountAfter}
	}
	return nil
}

// TakeRequest counts what the requester asks of a worker without sending, among its sends.
func (l *Limiter) TakeRequest(ctx context.Context, requester task.ID) error {
	if wait := l.takeSpan(
		ctx, spanKey{ByRequester, requester}, l.now(), requesterSpan, l.limits.SendsPerMinute, l.limits.requesterPortion(),
	); wait > 0 {
		return &Limited{RetryAfter: wait}
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

	beside(ctx, func() {
		total, err := l.counts.CountSends(ctx, k.kind, k.identity, start, length, n)
		if err != nil {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		s.known = max(s.known, total)
	})
	return 0
}

// fullness is what an instance knows of a worker's open tasks.
type fullness struct {
	own  int       // sends that it did not add to the shared counter yet
	till time.Time // full until then
}

// isFull counts one send, and says whether the worker has all the open tasks that it may.
func (l *Limiter) isFull(ctx context.Context, worker task.ID, now time.Time) bool {
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
	if n < l.limits.openPortion() && !wasFull {
		l.mu.Unlock()
		return false
	}
	f.own, f.till = 0, time.Time{}
	l.mu.Unlock()
	if wasFull {
		return l.recount(ctx, worker, f, n, now)
	}
	beside(ctx, func() { l.recount(ctx, worker, f, n, now) })
	return false
}

// recount adds n sends to those that the worker received, counts its open tasks anew where that is needed, and says
// whether it has all that it may.
func (l *Limiter) recount(ctx context.Context, worker task.ID, f *fullness, n int, now time.Time) bool {
	r, err := l.counts.CountReceived(ctx, worker, n)
	if err != nil {
		return false
	}
	most := l.limits.OpenTasksAtMost
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
