package client

import (
	"context"
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

// Handler does the work of a task and returns what to answer; its context ends with the lease, when the task was
// canceled for instance. After an error nothing is answered: the task comes again when the lease ends, to this worker
// or another.
type Handler func(ctx context.Context, t Task) (Reply, error)

// Serve claims the tasks that the caller receives and lets handle do them, up to n at a time, renewing leases for as
// long as it takes. It returns when ctx ends, with its error, or when the service refuses to give tasks or can't be
// reached for longer than calls are repeated; what is being done is done first.
func (c *Client) Serve(ctx context.Context, n int, handle Handler) error {
	var working sync.WaitGroup
	defer working.Wait()
	free := make(chan struct{}, n)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		claims, err := c.Claim(ctx, ClaimOptions{Max: 1, Lease: servedLease, Wait: 25 * time.Second})
		if ctx.Err() != nil {
			return ctx.Err() // what was claimed comes back
		}
		if err != nil {
			return err
		}
		if len(claims) == 0 {
			<-free
			continue
		}
		working.Go(func() {
			defer func() { <-free }()
			c.work(context.WithoutCancel(ctx), claims[0], handle)
		})
	}
}

// servedLease is how long a task stays with a process that died.
const servedLease = 60 * time.Second

func (c *Client) work(ctx context.Context, claim Claim, handle Handler) {
	ctx, lost := context.WithCancel(ctx)
	defer lost()
	go func() {
		tick := time.NewTicker(servedLease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_, err := c.Renew(ctx, claim.Task.ID, claim.LeaseID)
				if HasCode(err, CodeLeaseLost) || HasCode(err, CodeTerminal) || HasStatus(err, http.StatusNotFound) {
					lost()
					return
				}
			}
		}
	}()
	reply, err := handle(ctx, claim.Task)
	if err != nil || ctx.Err() != nil {
		return
	}
	reply.LeaseID = claim.LeaseID
	// A refusal means that the task is another's by now, or has ended; a lost line, that it comes again.
	c.Reply(ctx, claim.Task.ID, reply, Minimal())
}
