package traffic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"baton/client"
	"baton/internal/task"
)

// Driver lets the agents of a world talk. Every conversation is another: requests, questions and answers, claims, progress, ends,
// withdrawals, two that end a task at once, reads, lists and searches between.
type Driver struct {
	World  *World
	Ledger *Ledger
	// Rekey is asked for a new key when an agent's own is refused; nil when that can't be.
	Rekey func(context.Context, *Agent) error
	// CursorsExpire says that a walk may break off because its cursor is no more valid; it begins anew.
	CursorsExpire bool
	// Lease is for how long tasks are claimed.
	Lease time.Duration

	mu       sync.Mutex
	contexts map[[2]string]string // of two that talked before
}

// Talk holds n conversations, some at once, and leaves a part of the tasks open. What the service answers is in the ledger.
func (d *Driver) Talk(ctx context.Context, n, atOnce int) {
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for range n {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			all.Wait()
			return
		}
		all.Go(func() {
			defer func() { <-slots }()
			d.converse(ctx)
		})
	}
	all.Wait()
}

// pair picks a requester and a worker, of one organization or of two.
func (d *Driver) pair() (requester, worker *Agent) {
	all := d.World.Agents()
	i := rand.IntN(len(all))
	j := (i + 1 + rand.IntN(len(all)-1)) % len(all)
	return all[i], all[j]
}

func (d *Driver) converse(ctx context.Context) {
	requester, worker := d.pair()
	t, ok := d.Send(ctx, requester, worker)
	if !ok {
		return
	}
	id := t.ID
	if rand.IntN(3) == 0 {
		d.work(ctx, worker) // perhaps on another task
		return
	}
	if rand.IntN(4) > 0 {
		d.reply(ctx, worker, id, client.Progress, "")
	}
	d.look(ctx, requester, worker, id)
	if rand.IntN(3) == 0 {
		d.reply(ctx, worker, id, client.AskCaller, "")
		d.try(ctx, "wait", requester, nil, func(c *client.Client) error {
			_, err := c.Task(ctx, id, client.WaitFor(time.Second))
			return err
		})
		d.add(ctx, requester, id)
	}
	switch rand.IntN(7) {
	case 0: // stays open
	case 1:
		d.cancel(ctx, requester, id)
	case 2: // one of two wins
		var both sync.WaitGroup
		both.Go(func() { d.cancel(ctx, requester, id) })
		both.Go(func() { d.reply(ctx, worker, id, client.Complete, "") })
		both.Wait()
	case 3:
		d.reply(ctx, worker, id, client.Fail, "")
	default:
		d.reply(ctx, worker, id, client.Complete, "")
	}
}

// Send sends a task, at times in a conversation that the two had before.
func (d *Driver) Send(ctx context.Context, from, to *Agent) (t client.Task, ok bool) {
	two := [2]string{min(from.ID, to.ID), max(from.ID, to.ID)}
	conversation := ""
	d.mu.Lock()
	if rand.IntN(3) == 0 {
		conversation = d.contexts[two]
	}
	d.mu.Unlock()
	if t, ok = d.SendIn(ctx, from, to, conversation); ok {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.contexts == nil {
			d.contexts = map[[2]string]string{}
		}
		d.contexts[two] = t.ContextID
	}
	return t, ok
}

// SendIn sends a task in a conversation, "" for a new one.
func (d *Driver) SendIn(ctx context.Context, from, to *Agent, conversation string) (t client.Task, ok bool) {
	s := client.Send{To: to.Handle, ContextID: conversation, Draft: draft()}
	a, _ := task.ParseID(from.ID)
	b, _ := task.ParseID(to.ID)
	ok = d.try(ctx, "send", from, &Write{Task: task.SendID(a, b, s.MessageID), Role: task.ByCaller, MessageID: s.MessageID}, func(c *client.Client) (err error) {
		t, err = c.Send(ctx, s)
		return err
	})
	return t, ok
}

// work claims tasks of a worker and does some of them; others it forgets.
func (d *Driver) work(ctx context.Context, worker *Agent) {
	var claims []client.Claim
	d.try(ctx, "claim", worker, nil, func(c *client.Client) (err error) {
		claims, err = c.Claim(ctx, client.ClaimOptions{Max: 1 + rand.IntN(2), Lease: d.Lease})
		return err
	})
	for _, c := range claims {
		id, _ := task.ParseID(c.Task.ID)
		d.Ledger.Claimed(id, c.LeaseID)
	}
	for _, claim := range claims {
		switch rand.IntN(4) {
		case 0: // forgotten: it comes back when its lease ends
		case 1:
			d.try(ctx, "renew", worker, nil, func(c *client.Client) error {
				_, err := c.Renew(ctx, claim.Task.ID, claim.LeaseID)
				return err
			})
			fallthrough
		default:
			d.reply(ctx, worker, claim.Task.ID, client.Complete, claim.LeaseID)
		}
	}
}

func (d *Driver) reply(ctx context.Context, worker *Agent, id string, intent client.Intent, lease string) {
	r := client.Reply{Intent: intent, LeaseID: lease, Draft: draft()}
	d.try(ctx, "reply", worker, write(id, task.ByAgent, r.MessageID), func(c *client.Client) error {
		_, err := c.Reply(ctx, id, r)
		return err
	})
}

func (d *Driver) add(ctx context.Context, requester *Agent, id string) {
	m := draft()
	d.try(ctx, "add", requester, write(id, task.ByCaller, m.MessageID), func(c *client.Client) error {
		_, err := c.Add(ctx, id, m)
		return err
	})
}

func (d *Driver) cancel(ctx context.Context, requester *Agent, id string) {
	w := write(id, task.ByCaller, "")
	w.Cancel = true
	d.try(ctx, "cancel", requester, w, func(c *client.Client) error {
		_, err := c.Cancel(ctx, id)
		return err
	})
}

// look reads in one of several ways, and looks whether others see anything.
func (d *Driver) look(ctx context.Context, requester, worker *Agent, id string) {
	d.try(ctx, "read", requester, nil, func(c *client.Client) error {
		t, err := c.Task(ctx, id)
		if err == nil && t.ID != id {
			d.Ledger.Surprise("asked for task %s, got %s", id, t.ID)
		}
		return err
	})
	switch rand.IntN(4) {
	case 0:
		d.try(ctx, "list", worker, nil, func(c *client.Client) error { return d.walk(ctx, c, worker, "") })
	case 1:
		d.try(ctx, "search", worker, nil, func(c *client.Client) error { return d.walk(ctx, c, worker, "refund") })
	case 2:
		d.try(ctx, "events", requester, nil, func(c *client.Client) error {
			p, err := c.EventPage(ctx, client.EventFilter{})
			for _, e := range p.Items {
				if e.OrganizationID != requester.OrganizationID || e.IdentityID != requester.ID {
					d.Ledger.Surprise("agent %s was shown an event of agent %s", requester.ID, e.IdentityID)
				}
			}
			return err
		})
	case 3:
		d.try(ctx, "messages", worker, nil, func(c *client.Client) (err error) {
			for _, err = range c.Messages(ctx, id) {
			}
			return err
		})
	}
}

// walk looks at two small pages of an agent's tasks.
func (d *Driver) walk(ctx context.Context, c *client.Client, a *Agent, words string) error {
	f := client.TaskFilter{Direction: client.Both, PageSize: 3, Query: words}
	for range 2 {
		p, err := c.TaskPage(ctx, f)
		if err != nil {
			return err
		}
		for _, t := range p.Items {
			if t.CallerIdentityID != a.ID && t.TargetIdentityID != a.ID {
				d.Ledger.Surprise("agent %s was shown task %s, which is of others", a.ID, t.ID)
			}
		}
		if f.Cursor = p.NextCursor; f.Cursor == "" {
			return nil
		}
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
	}
	return nil
}

// try makes one call and notes what came of it; w is nil for a read.
func (d *Driver) try(ctx context.Context, name string, a *Agent, w *Write, call func(*client.Client) error) (ok bool) {
	if w != nil {
		d.Ledger.Note(*w, Unknown)
	}
	err := call(a.Client())
	if client.HasStatus(err, http.StatusUnauthorized) && d.Rekey != nil {
		d.Ledger.Count("key refused")
		if err = d.Rekey(ctx, a); err == nil {
			err = call(a.Client())
		}
	}
	o, expected := Judge(err)
	switch {
	case !expected && d.CursorsExpire && client.HasStatus(err, http.StatusBadRequest) && (name == "list" || name == "search"):
		d.Ledger.Count("cursor refused")
	case !expected:
		d.Ledger.Surprise("%s: %v", name, err)
	}
	d.Ledger.Count(name + [...]string{" unanswered", "", " refused"}[o])
	if w != nil {
		d.Ledger.Note(*w, o)
	}
	return o == Accepted
}

// Judge says what an answer means to whoever made a write, and whether there may be such a one.
func Judge(err error) (o Outcome, expected bool) {
	var refused *client.Error
	switch {
	case err == nil:
		return Accepted, true
	case !errors.As(err, &refused):
		return Unknown, true // no answer at all
	}
	switch refused.Status {
	case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return Unknown, true
	case http.StatusTooManyRequests:
		return Refused, true
	case http.StatusConflict:
		if refused.Code == client.CodeConflict {
			return Unknown, true
		}
		return Refused, refused.Code == client.CodeTerminal || refused.Code == client.CodeTransition || refused.Code == client.CodeLeaseLost
	}
	return Refused, false
}

func write(id string, role task.Role, messageID string) *Write {
	t, _ := task.ParseID(id)
	return &Write{Task: t, Role: role, MessageID: messageID}
}

func draft() client.Draft {
	n := task.NewID().String()
	return client.Draft{Message: fmt.Sprintf("Please refund order %d, as agreed", rand.IntN(10_000)), MessageID: n}
}
