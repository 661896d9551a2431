package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// ClaimOptions say what to claim. Zero fields are the service's own choice: one task, for five minutes, at once.
type ClaimOptions struct {
	Max   int           // 1 to 10
	Lease time.Duration // 30 s to 1 h
	Wait  time.Duration // for a task to come, up to 30 s
}

// Claim is a task that is the caller's to work on until the lease ends.
type Claim struct {
	Task           Task      `json:"task"`
	LeaseID        string    `json:"lease_id"`
	LeaseExpiresAt time.Time `json:"lease_expires_at"`
}

// Claim takes received tasks to work on, each for one claimer. None is no error. What a lost answer had claimed comes
// back when its lease ends.
func (c *Client) Claim(ctx context.Context, o ClaimOptions) ([]Claim, error) {
	body := struct {
		Max   int `json:"max,omitempty"`
		Lease int `json:"lease_seconds,omitempty"`
		Wait  int `json:"wait,omitempty"`
	}{o.Max, int(o.Lease / time.Second), int(o.Wait / time.Second)}
	var got struct{ Items []Claim }
	_, _, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/a2a/tasks/claim", body: body}, &got)
	return got.Items, err
}

// Renew moves the end of a lease by its length, and says nothing to the requester. CodeLeaseLost when another may have
// the task.
func (c *Client) Renew(ctx context.Context, taskID, leaseID string) (Task, error) {
	body := map[string]string{"intent": string(Progress), "lease_id": leaseID}
	return c.task(ctx, call{method: http.MethodPost, path: path("/v1/a2a/tasks/{}/reply", taskID), body: body}, nil)
}

// Handler does the work of a task and returns what to answer; its context ends with the lease: when the task was canceled
// for instance, or the service could not be reached for so long that another worker may have the task. After an error
// nothing is answered: the task comes again when the lease ends, to this worker or another.
type Handler func(ctx context.Context, t Task) (Reply, error)

// ServeOption changes how Serve works.
type ServeOption func(*server)

// WithLease says for how long a task stays with a process that died: 30 s to 1 h, 60 s without it.
func WithLease(d time.Duration) ServeOption { return func(s *server) { s.lease = d } }

// OnError tells of tasks that were not answered, and why: an error of the handler, a lease that was lost, a reply that was
// refused. report is called from many goroutines.
func OnError(report func(Task, error)) ServeOption { return func(s *server) { s.report = report } }

// ErrLeaseLost says that a task is another worker's by now, or has ended.
var ErrLeaseLost = errors.New("baton: the lease was lost")

// Serve claims the tasks that the caller receives and lets handle do them, up to n at a time, renewing leases for as
// long as it takes. It returns when ctx ends, with its error, or when the service refuses to give tasks or can't be
// reached for longer than calls are repeated; what is being done is done first, so that ending ctx is a graceful end.
func (c *Client) Serve(ctx context.Context, n int, handle Handler, options ...ServeOption) error {
	s := server{Client: c, handle: handle, lease: 60 * time.Second, report: func(Task, error) {}}
	for _, option := range options {
		option(&s)
	}
	var working sync.WaitGroup
	defer working.Wait()
	free := make(chan struct{}, n)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		claims, err := c.Claim(ctx, ClaimOptions{Max: 1, Lease: s.lease, Wait: 25 * time.Second})
		for _, claim := range claims {
			until := time.Now().Add(s.lease * 9 / 10) // it began a little before the answer came
			working.Go(func() {
				defer func() { <-free }()
				s.work(context.WithoutCancel(ctx), claim, until)
			})
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err() // what was claimed and not told of comes back
		case err != nil:
			return err
		case len(claims) == 0:
			<-free
		}
	}
}

type server struct {
	*Client
	handle Handler
	lease  time.Duration
	report func(Task, error)
}

// work does one task, and answers it unless its lease was lost.
func (s *server) work(ctx context.Context, claim Claim, until time.Time) {
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	go s.keep(ctx, claim, until, lost)
	reply, err := s.handle(ctx, claim.Task)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err == nil {
		reply.LeaseID = claim.LeaseID
		_, err = s.Reply(ctx, claim.Task.ID, reply, Minimal())
	}
	if err != nil {
		s.report(claim.Task, err)
	}
}

// keep renews a lease until ctx ends, thrice in its length. It is lost when the service says so, and when the service
// could not be asked before its end.
func (s *server) keep(ctx context.Context, claim Claim, until time.Time, lost context.CancelCauseFunc) {
	tick := time.NewTicker(s.lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked := time.Now()
		inTime, cancel := context.WithDeadline(ctx, until)
		_, err := s.Renew(inTime, claim.Task.ID, claim.LeaseID)
		cancel()
		switch {
		case err == nil:
			until = asked.Add(s.lease)
		case HasCode(err, CodeLeaseLost), HasCode(err, CodeTerminal), HasStatus(err, http.StatusNotFound), !time.Now().Before(until):
			lost(fmt.Errorf("%w: %w", ErrLeaseLost, err))
			return
		}
	}
}
