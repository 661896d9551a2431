package directory_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/task"
)

// open is a worker that has so many open tasks.
type open int

func (o open) CountOpen(_ context.Context, _ task.ID, most int) (int, error) {
	return min(int(o), most), nil
}

func TestThrottles(t *testing.T) {
	w := newWorld(t)
	limits := directory.Limits{SendsPerMinute: 300, SendsPerSecond: 20, OpenTasksAtMost: 1000}
	noon := time.Now().Truncate(time.Hour)
	at := noon
	instances := make([]*directory.Limiter, 4)
	for n := range instances {
		instances[n] = directory.NewLimiter(w.store, open(0), limits, func() time.Time { return at })
	}
	flood := func(requester, worker func(n int) task.ID) (passed int, last *directory.Limited) {
		t.Helper()
		for n := range 800 {
			err := instances[n%len(instances)].Take(t.Context(), requester(n), worker(n))
			if err == nil {
				passed++
			} else if !errors.As(err, &last) || last.Quota {
				t.Fatal(err)
			}
		}
		return passed, last
	}
	one := func() func(int) task.ID { id := task.NewID(); return func(int) task.ID { return id } }
	each := func(int) task.ID { return task.NewID() }
	requester, worker := one(), one()

	w.faults.Reset()
	passed, last := flood(requester, each)
	if passed < 300 || passed > 300+4*25 {
		t.Errorf("%d sends of one requester pass, want 300 and up to 25 for each of 4 instances", passed)
	}
	if last == nil || last.RetryAfter != time.Minute {
		t.Errorf("told to wait: %v", last)
	}
	if _, writes := w.faults.Units(); writes > (300.0+4*25)/25 {
		t.Errorf("counting cost %v write units", writes)
	}
	t.Logf("%d of 300 sends a minute passed over 4 instances", passed)

	passed, last = flood(each, worker)
	if passed < 200 || passed > 200+4*4 {
		t.Errorf("%d sends to one worker pass in ten seconds, want 200 and up to 4 for each of 4 instances", passed)
	}
	if last == nil || last.RetryAfter != 10*time.Second {
		t.Errorf("told to wait: %v", last)
	}
	at = noon.Add(59 * time.Second)
	if err := instances[0].Take(t.Context(), requester(0), task.NewID()); err == nil {
		t.Error("the minute is not over and a send passes")
	}
	if err := instances[0].Take(t.Context(), task.NewID(), worker(0)); err != nil {
		t.Errorf("the ten seconds are over: %v", err)
	}
	at = noon.Add(time.Minute)
	if err := instances[0].Take(t.Context(), requester(0), task.NewID()); err != nil {
		t.Errorf("the minute is over: %v", err)
	}
}

func TestQuotaOfOpenTasks(t *testing.T) {
	w := newWorld(t)
	at := time.Now()
	worker := task.NewID()
	count := open(900)
	limiter := func() *directory.Limiter {
		return directory.NewLimiter(w.store, &count, directory.Limits{SendsPerMinute: 1e6, SendsPerSecond: 1e6, OpenTasksAtMost: 1000},
			func() time.Time { return at })
	}
	l := limiter()
	full := func(sends int) (passed int) {
		t.Helper()
		for range sends {
			err := l.Take(t.Context(), task.NewID(), worker)
			var limited *directory.Limited
			switch {
			case err == nil:
				passed++
				count++
			case !errors.As(err, &limited) || !limited.Quota || limited.RetryAfter <= 0:
				t.Fatal(err)
			}
		}
		return passed
	}
	if n := full(500); n < 100 || n > 110 {
		t.Errorf("%d sends pass with 900 open, want 100 and up to 10", n)
	}
	count = 400 // some ended
	if n := full(10); n != 0 {
		t.Errorf("%d pass before the next count", n)
	}
	at = at.Add(10 * time.Second)
	if n := full(10); n != 10 {
		t.Errorf("%d of 10 pass after it", n)
	}
	l = limiter() // another instance
	if n := full(1000); n < 590 || n > 610 {
		t.Errorf("%d pass with 410 open, want 590 and up to 10 for each of two instances", n)
	}
}

func TestCountersThatFailLetSendsPass(t *testing.T) {
	w := newWorld(t)
	w.faults.On("UpdateItem").Always().Fail(http.StatusBadRequest, "AccessDeniedException")
	l := directory.NewLimiter(w.store, open(0), directory.Limits{SendsPerMinute: 20, SendsPerSecond: 1, OpenTasksAtMost: 1}, time.Now)
	if err := l.Take(t.Context(), task.NewID(), task.NewID()); err != nil {
		t.Error(err)
	}
}

// With the limits as the template has them, counting adds less than 1 % to a send's eight units, and nothing to its way.
func TestCountingCostsUnderOnePercent(t *testing.T) {
	w := newWorld(t)
	at := time.Now().Truncate(time.Hour)
	l := directory.NewLimiter(w.store, open(0), directory.Limits{SendsPerMinute: 300, SendsPerSecond: 200, OpenTasksAtMost: 10_000},
		func() time.Time { return at })
	requester, worker := task.NewID(), task.NewID()
	w.faults.Reset()
	const sends = 3000
	for n := range sends {
		at = at.Add(200 * time.Millisecond) // 300 a minute, which is the most
		if err := l.Take(t.Context(), requester, worker); err != nil {
			t.Fatalf("send %d: %v", n, err)
		}
	}
	_, writes := w.faults.Units()
	t.Logf("%.0f write units for %d sends", writes, sends)
	if writes > 0.01*8*sends {
		t.Errorf("counting %d sends took %.0f write units, more than 1 %% of their eight", sends, writes)
	}

	// A counter that does not answer holds no send.
	ctx, counted := directory.Beside(t.Context())
	w.faults.On("UpdateItem").Always().Delay(200 * time.Millisecond)
	began := time.Now()
	for range 30 { // a portion and more
		if err := l.Take(ctx, task.NewID(), worker); err != nil {
			t.Fatal(err)
		}
		if err := l.Take(ctx, requester, task.NewID()); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took > 150*time.Millisecond {
		t.Errorf("sends were held for %s", took)
	}
	w.faults.Reset()
	counted()
	if _, writes := w.faults.Units(); writes < 1 {
		t.Error("nothing was told to the counters")
	}
}
