package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"baton/client"
	"baton/internal/store"
	"baton/internal/task"
)

// Invariant is a promise that holds whatever fails.
type Invariant string

const (
	// Kept: every acknowledged write is in its task, and every change in the logs, on the buses and at the webhooks of
	// those who must know.
	Kept Invariant = "nothing lost"
	// Once: a message id made one message, a send one task, a refused write none; logs are dense, without repetition, and
	// tell of nothing that did not happen.
	Once Invariant = "nothing twice"
	// Private: nobody saw, in any of these places, what is not theirs.
	Private Invariant = "nothing leaked"
	// Free: every open task could be ended, no lease held for ever, nothing waits for a bus or as failed.
	Free Invariant = "none stuck"
	// Counted: counters are what there is to count.
	Counted Invariant = "counters right"
	// Answered: no answer but those that the contract has for the case.
	Answered Invariant = "answers right"
)

// Invariants are all of them, in the order in which they are shown.
var Invariants = []Invariant{Kept, Once, Private, Free, Counted, Answered}

// Findings are the breaches of each invariant.
type Findings map[Invariant][]string

func (f Findings) add(i Invariant, format string, a ...any) {
	f[i] = append(f[i], fmt.Sprintf(format, a...))
}

// Evidence is where all that happened is written.
type Evidence struct {
	Tasks *store.Tasks
	Log   *store.Log
	// Told are the events that arrived at an organization's places, however often: "bus", "webhook". A place that is not there is
	// not looked at.
	Told map[string][]Told
}

// Told is an event that arrived somewhere.
type Told struct {
	At           task.ID // the organization whose bus or webhook it is
	ID           string  `json:"id"`
	Organization string  `json:"organization_id"`
	Identity     string  `json:"identity_id"`
}

// Check holds the evidence against the ledger. Every open task should have been ended before, by Finish or otherwise.
func Check(ctx context.Context, w *World, l *Ledger, e Evidence) (Findings, error) {
	c := &check{World: w, Evidence: e, found: Findings{}, events: map[task.ID]task.Event{}, contexts: map[task.ID][]task.Task{}}
	writes, claims, surprises := l.snapshot()
	for _, s := range surprises {
		c.found.add(Answered, "%s", s)
	}
	byTask := map[task.ID]map[Write]Outcome{}
	for write, o := range writes {
		if byTask[write.Task] == nil {
			byTask[write.Task] = map[Write]Outcome{}
		}
		byTask[write.Task][write] = o
	}
	leases := map[task.ID]int{}
	for _, id := range claims {
		leases[id]++
	}
	if err := c.tasks(ctx, l.Tasks(), byTask, leases); err != nil {
		return nil, err
	}
	for _, check := range []func(context.Context) error{c.lists, c.logs, c.conversations, c.outsider} {
		if err := check(ctx); err != nil {
			return nil, err
		}
	}
	c.told()
	return c.found, nil
}

type check struct {
	*World
	Evidence
	mu       sync.Mutex
	found    Findings
	events   map[task.ID]task.Event // that must have been told, by their ids
	contexts map[task.ID][]task.Task
	made     sync.Map // the ids of all tasks that are there
}

func (c *check) add(i Invariant, format string, a ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found.add(i, format, a...)
}

// tasks looks at every task that a write may have made, some at once.
func (c *check) tasks(ctx context.Context, ids []task.ID, writes map[task.ID]map[Write]Outcome, leases map[task.ID]int) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	slots := make(chan struct{}, 4)
	for _, id := range ids {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := c.task(ctx, id, writes[id], leases[id]); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			}
		})
	}
	all.Wait()
	return failed
}

func (c *check) task(ctx context.Context, id task.ID, writes map[Write]Outcome, leases int) error {
	v, err := c.Tasks.Load(ctx, id, true)
	if errors.Is(err, task.ErrNotFound) {
		for w, o := range writes {
			if o == Accepted {
				c.add(Kept, "task %s is gone with its accepted message %s", id, w.MessageID)
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	c.made.Store(id, true)
	c.mu.Lock()
	c.contexts[v.Context] = append(c.contexts[v.Context], v.Task)
	c.mu.Unlock()

	messages, claimed, ends, canceled := 0, 0, 0, false
	seen := map[Write]bool{}
	for n := 1; n <= v.Version; n++ {
		change, err := c.Tasks.Change(ctx, id, n)
		if errors.Is(err, task.ErrNotFound) {
			c.add(Kept, "change %d of task %s is not there", n, id)
			continue
		}
		if err != nil {
			return err
		}
		c.mu.Lock()
		for _, e := range change.Events() {
			c.events[e.ID] = e
		}
		c.mu.Unlock()
		canceled = canceled || change.Cause == task.CauseCanceled
		if change.Cause == task.CauseClaimed {
			claimed++
		}
		if change.State.Terminal() {
			ends++
		}
		if n == v.Version && change.State != v.State {
			c.add(Once, "task %s is %s, its last change made it %s", id, v.State, change.State)
		}
		if change.Message == nil {
			continue
		}
		messages++
		w := Write{Task: id, Role: change.Message.Role, MessageID: change.Message.MessageID}
		o, tried := writes[w]
		switch {
		case w.MessageID == "": // of the sweep that ends a deleted agent's tasks
		case seen[w]:
			c.add(Once, "task %s has message %s twice", id, w.MessageID)
		case !tried:
			c.add(Once, "task %s has message %s that nobody sent", id, w.MessageID)
		case o == Refused:
			c.add(Once, "task %s has message %s, which was refused", id, w.MessageID)
		}
		seen[w] = true
	}
	if _, err := c.Tasks.Change(ctx, id, v.Version+1); !errors.Is(err, task.ErrNotFound) {
		c.add(Once, "task %s of version %d has a change after it: %v", id, v.Version, err)
	}
	for w, o := range writes {
		if o == Accepted && (w.Cancel && !canceled || !w.Cancel && !seen[w]) {
			c.add(Kept, "task %s lacks the accepted message %q (cancel %v)", id, w.MessageID, w.Cancel)
		}
		if o == Refused && w.Cancel && canceled {
			c.add(Once, "task %s was canceled by a refused call", id)
		}
	}
	if claimed < leases {
		c.add(Kept, "task %s has %d claims of %d", id, claimed, leases)
	}
	if v.State.Terminal() && ends != 1 {
		c.add(Once, "task %s ended %d times", id, ends)
	}
	if !v.State.Terminal() {
		c.add(Free, "task %s is %s", id, v.State)
	}
	if messages != v.Messages {
		c.add(Counted, "task %s counts %d messages of %d", id, v.Messages, messages)
	}
	return nil
}

// lists looks whether the agents' lists have exactly the tasks that are there.
func (c *check) lists(ctx context.Context) error {
	listed := map[string]bool{}
	for _, o := range c.Organizations {
		for _, a := range o.Agents {
			for t, err := range a.Client().Tasks(ctx, client.TaskFilter{Direction: client.Both}) {
				if err != nil {
					return err
				}
				if t.CallerIdentityID != a.ID && t.TargetIdentityID != a.ID {
					c.add(Private, "agent %s lists task %s, which is of others", a.ID, t.ID)
				}
				id, _ := task.ParseID(t.ID)
				if _, there := c.made.Load(id); !there && t.CallerIdentityID == a.ID {
					c.add(Once, "task %s was made by no send that was tried", t.ID)
				}
				listed[t.ID] = true
			}
		}
	}
	c.made.Range(func(id, _ any) bool {
		if !listed[id.(task.ID).String()] {
			c.add(Kept, "task %s is in no list", id)
		}
		return true
	})
	return nil
}

// logs holds every organization's log against what happened.
func (c *check) logs(ctx context.Context) error {
	missing := map[task.ID]bool{}
	for id := range c.events {
		missing[id] = true
	}
	for _, o := range c.Organizations {
		id, _ := task.ParseID(o.ID)
		logged := map[task.ID]bool{}
		n := int64(0)
		for {
			page, err := c.Log.Entries(ctx, id, n, 500)
			if err != nil {
				return err
			}
			for _, e := range page {
				want, happened := c.events[e.ID]
				switch {
				case e.Sequence != n+1:
					c.add(Once, "log of %s: %d after %d", o.ID, e.Sequence, n)
				case logged[e.ID]:
					c.add(Once, "log of %s has event %s twice", o.ID, e.ID)
				case !happened:
					c.add(Once, "log of %s has event %s of task %s, which did not happen", o.ID, e.ID, e.Task)
				case want.Organization != id || e.Identity != want.Identity:
					c.add(Private, "log of %s has event %s, which is of %s", o.ID, e.ID, want.Organization)
				case e.Version != want.Version || e.State != want.State || e.Type != want.Type:
					c.add(Kept, "log of %s has event %s as %s %s of version %d", o.ID, e.ID, e.Type, e.State, e.Version)
				}
				logged[e.ID] = true
				delete(missing, e.ID)
				n = e.Sequence
			}
			if len(page) == 0 {
				break
			}
		}
		head, err := c.Log.Head(ctx, id)
		if err != nil {
			return err
		}
		if head.Sequence != n {
			c.add(Counted, "log of %s says %d entries, there are %d", o.ID, head.Sequence, n)
		}
		if head.ParkedFrom != 0 {
			c.add(Free, "log of %s waits for its bus from %d of %d", o.ID, head.ParkedFrom, n)
		}
	}
	for id := range missing {
		e := c.events[id]
		c.add(Kept, "%s of version %d of task %s is not in the log of %s", e.Type, e.Version, e.Task, e.Organization)
	}
	return nil
}

// told holds what arrived on buses and at webhooks against what had to.
func (c *check) told() {
	for place, all := range c.Told {
		arrived := map[string]bool{}
		for _, t := range all {
			arrived[t.ID] = true
			id, _ := task.ParseID(t.ID)
			want, happened := c.events[id]
			switch {
			case !happened:
				c.add(Once, "%s of %s told event %s, which did not happen", place, t.At, t.ID)
			case want.Organization != t.At || t.Organization != t.At.String() || t.Identity != want.Identity.String():
				c.add(Private, "%s of %s told event %s, which is of %s", place, t.At, t.ID, want.Organization)
			}
		}
		for id, e := range c.events {
			if !arrived[id.String()] {
				c.add(Kept, "%s of version %d of task %s did not come to the %s of %s", e.Type, e.Version, e.Task, place, e.Organization)
			}
		}
	}
}

// conversations looks at the counters of contexts, as one of their agents.
func (c *check) conversations(ctx context.Context) error {
	agents := map[task.ID]*Agent{}
	for _, a := range c.Agents() {
		id, _ := task.ParseID(a.ID)
		agents[id] = a
	}
	looked := 0
	for id, tasks := range c.contexts {
		a := agents[tasks[0].Caller.Identity]
		if a == nil || len(tasks) == 1 && looked > 20 {
			continue
		}
		looked++
		got, err := a.Client().Conversation(ctx, id.String())
		if err != nil {
			return fmt.Errorf("traffic: read context %s: %w", id, err)
		}
		open := 0
		for _, t := range tasks {
			if !t.State.Terminal() {
				open++
			}
		}
		if got.TaskCount != len(tasks) || got.OpenTaskCount != open {
			c.add(Counted, "context %s counts %d tasks, %d open; there are %d, %d", id, got.TaskCount, got.OpenTaskCount, len(tasks), open)
		}
	}
	return nil
}

// outsider tries what an agent without part in anything may see.
func (c *check) outsider(ctx context.Context) error {
	outsider := c.Outsider.Client()
	tried := 0
	var failed error
	c.made.Range(func(id, _ any) bool {
		tried++
		_, err := outsider.Task(ctx, id.(task.ID).String())
		if err == nil {
			c.add(Private, "the outsider reads task %s", id)
		} else if !client.HasStatus(err, http.StatusNotFound) {
			failed = err
		}
		return tried < 20 && failed == nil
	})
	if failed != nil {
		return failed
	}
	for t, err := range outsider.Tasks(ctx, client.TaskFilter{Direction: client.Both}) {
		if err != nil {
			return err
		}
		c.add(Private, "the outsider lists task %s", t.ID)
	}
	p, err := outsider.EventPage(ctx, client.EventFilter{})
	for _, e := range p.Items {
		c.add(Private, "the outsider is told event %s", e.ID)
	}
	return err
}
