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
	if passed < 300 || passed > 300+4*14 {
		t.Errorf("%d sends of one requester pass, want 300 and up to 14 for each of 4 instances", passed)
	}
	if last == nil || last.RetryAfter != time.Minute {
		t.Errorf("told to wait: %v", last)
	}
	if _, writes := w.faults.Units(); writes > 300.0/15+4 {
		t.Errorf("counting cost %v write units", writes)
	}
	t.Logf("%d of 300 sends a minute passed over 4 instances", passed)

	passed, last = flood(each, worker)
	if passed < 200 || passed > 200+4 {
		t.Errorf("%d sends to one worker pass in ten seconds, want 200 and up to 1 for each of 4 instances", passed)
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
	if n := full(500); n < 100 || n > 105 {
		t.Errorf("%d sends pass with 900 open, want 100 and up to 5", n)
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
	if n := full(1000); n < 590 || n > 600 {
		t.Errorf("%d pass with 410 open, want 590 and up to 5 for each of two instances", n)
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
