package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"baton/client"
)

// leases stands in for the service, whose leases have 30 s at least: what is looked at here is when the client renews,
// and when it gives up.
type leases struct {
	claimed  atomic.Bool
	renewals atomic.Int32
	replies  atomic.Int32
	renew    answer
}

func (l *leases) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch {
	case strings.HasSuffix(r.URL.Path, "/claim") && l.claimed.CompareAndSwap(false, true):
		ok(`{"items":[{"task":{"id":"t1"},"lease_id":"l1"}]}`)(w)
	case strings.HasSuffix(r.URL.Path, "/claim"):
		time.Sleep(10 * time.Millisecond)
		ok(`{"items":[]}`)(w)
	case strings.Contains(string(body), `"progress"`):
		l.renewals.Add(1)
		l.renew(w)
	default:
		l.replies.Add(1)
		ok(`{}`)(w)
	}
}

// work lets Serve do one task, with leases of 300 ms, and returns what was reported.
func (l *leases) work(t *testing.T, handle client.Handler) error {
	t.Helper()
	s := httptest.NewServer(l)
	defer s.Close()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	var reported error
	err := client.New(s.URL, key).Serve(ctx, 2, func(ctx context.Context, task client.Task) (client.Reply, error) {
		defer stop()
		return handle(ctx, task)
	}, client.WithLease(300*time.Millisecond), client.OnError(func(_ client.Task, err error) { reported = err }))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Serve ended with %v", err)
	}
	return reported
}

func untilDone(ctx context.Context, _ client.Task) (client.Reply, error) {
	select {
	case <-ctx.Done():
		return client.Reply{Intent: client.Complete}, nil // it does not look why
	case <-time.After(20 * time.Second):
		return client.Reply{}, errors.New("nobody said that the lease was lost")
	}
}

func TestServeRenewsWhileTheHandlerWorks(t *testing.T) {
	l := &leases{renew: ok(`{}`)}
	err := l.work(t, func(ctx context.Context, _ client.Task) (client.Reply, error) {
		for n := 0; l.renewals.Load() < 5 && ctx.Err() == nil; n++ {
			if time.Sleep(10 * time.Millisecond); n == 1000 {
				return client.Reply{}, errors.New("it does not renew")
			}
		}
		return client.Reply{Intent: client.Complete}, ctx.Err()
	})
	if err != nil || l.replies.Load() != 1 {
		t.Errorf("%v, %d replies", err, l.replies.Load())
	}
}

func TestServeStopsAHandlerWhoseLeaseIsLost(t *testing.T) {
	for name, renew := range map[string]answer{
		"another has it":           problem(409, client.CodeLeaseLost, ""),
		"the task ended":           problem(409, client.CodeTerminal, ""),
		"the task is gone":         problem(404, "a2a.not_found", ""),
		"the service is not there": nil,
	} {
		t.Run(name, func(t *testing.T) {
			l := &leases{renew: renew}
			if renew == nil {
				l.renew = drop
			}
			if err := l.work(t, untilDone); !errors.Is(err, client.ErrLeaseLost) || l.replies.Load() != 0 {
				t.Errorf("%v, %d replies", err, l.replies.Load())
			}
			if n := l.renewals.Load(); renew != nil && n != 1 {
				t.Errorf("it asked %d times", n)
			}
		})
	}
}

func TestServeReportsAHandlersError(t *testing.T) {
	broken := errors.New("broken")
	l := &leases{renew: ok(`{}`)}
	err := l.work(t, func(context.Context, client.Task) (client.Reply, error) { return client.Reply{}, broken })
	if !errors.Is(err, broken) || l.replies.Load() != 0 {
		t.Errorf("%v, %d replies", err, l.replies.Load())
	}
}

// six serves six tasks, one a claim, of which the first few find none. It ends what serves them behind the last reply.
type six struct {
	*testing.T
	claims, replies atomic.Int32
	end             func()
}

func (s *six) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if strings.HasSuffix(r.URL.Path, "/claim") {
		n := s.claims.Add(1) - 3
		if n < 1 || n > 6 {
			time.Sleep(10 * time.Millisecond)
			ok(`{"items":[]}`)(w)
			return
		}
		ok(fmt.Sprintf(`{"items":[{"task":{"id":"t%d"},"lease_id":"l%d"}]}`, n, n))(w)
		return
	}
	n := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v1/a2a/tasks/t"), "/reply")
	if !strings.Contains(string(body), `"lease_id":"l`+n+`"`) {
		s.Errorf("task %s is answered by %s", n, body)
	}
	if ok(`{}`)(w); s.replies.Add(1) == 6 {
		s.end()
	}
}

func TestServeDoesAllAndNoMoreAtOnceThanItMay(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	tasks := &six{T: t, end: stop}
	s := httptest.NewServer(tasks)
	defer s.Close()
	var atOnce atomic.Int32
	client.New(s.URL, key).Serve(ctx, 2, func(context.Context, client.Task) (client.Reply, error) {
		defer atOnce.Add(-1)
		if n := atOnce.Add(1); n > 2 {
			t.Errorf("%d at once", n)
		}
		time.Sleep(100 * time.Millisecond)
		return client.Reply{Intent: client.Complete}, nil
	})
	if n := tasks.replies.Load(); n != 6 {
		t.Errorf("%d tasks were answered", n)
	}
}

func TestServeEndsAtARefusal(t *testing.T) {
	url, seen := serve(t, problem(403, "a2a.forbidden", ""))
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	err := client.New(url, key).Serve(ctx, 1, untilDone)
	if !client.HasStatus(err, 403) || len(seen()) != 1 {
		t.Errorf("%v after %d claims", err, len(seen()))
	}
}
