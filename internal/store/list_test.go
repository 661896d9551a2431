package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"baton/internal/task"
)

// crowd is a few identities and the tasks between them, moved about at random.
type crowd struct {
	*bench
	random  *rand.Rand
	parties []task.Party
	tasks   []task.View // as they stand
}

func newCrowd(b *bench, seed uint64, tasks int) *crowd {
	c := &crowd{bench: b, random: rand.New(rand.NewPCG(seed, 3))}
	for i := range 3 {
		c.parties = append(c.parties, task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: fmt.Sprintf("agent-%d", i)})
	}
	for len(c.tasks) < tasks {
		c.send()
		c.move()
	}
	return c
}

func (c *crowd) send() {
	c.Helper()
	from := c.random.IntN(3)
	s := task.Send{From: task.Caller{Party: c.parties[from]}, To: c.parties[(from+1+c.random.IntN(2))%3], Message: text("please")}
	if len(c.tasks) > 0 && c.random.IntN(4) == 0 {
		other := c.tasks[c.random.IntN(len(c.tasks))]
		s.From, s.To, s.Context = other.Caller, other.Target, other.Context
	}
	v, _, err := c.Send(c.Context(), s)
	if err != nil {
		c.Fatal(err)
	}
	c.tasks = append(c.tasks, v)
}

// move makes a random write on a random open task.
func (c *crowd) move() {
	c.Helper()
	i := c.random.IntN(len(c.tasks))
	v := c.tasks[i]
	if v.State.Terminal() {
		return
	}
	command := concurrent[c.random.IntN(len(concurrent)-1)]
	b := *c.bench
	b.from, b.to = v.Caller, v.Target
	if now, err := command.make(&b, v); err == nil {
		c.tasks[i] = now
	}
}

// want is what a walk must give, in its order.
func (c *crowd) want(q task.Query) (ids []task.ID) {
	var found []task.Task
	for _, v := range c.tasks {
		in, out := v.Target.Identity == q.Identity, v.Caller.Identity == q.Identity
		switch {
		case q.Direction == task.Inbound && !in, q.Direction == task.Outbound && !out, !in && !out,
			q.State != "" && v.State != q.State,
			q.Requester != "" && v.Caller.Handle != q.Requester,
			q.Worker != "" && v.Target.Handle != q.Worker,
			!q.Context.IsZero() && v.Task.Context != q.Context,
			!q.Since.IsZero() && !v.UpdatedAt.After(q.Since),
			!q.CreatedSince.IsZero() && v.CreatedAt.Before(q.CreatedSince):
			continue
		}
		found = append(found, v.Task)
	}
	slices.SortFunc(found, func(a, b task.Task) int { return bytes.Compare(place(b), place(a)) })
	for _, t := range found {
		ids = append(ids, t.ID)
	}
	return ids
}

// place is where a task stands in lists.
func place(t task.Task) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(t.UpdatedAt.UnixMilli())), t.ID[:]...)
}

// query is a random one.
func (c *crowd) query() task.Query {
	q := task.Query{
		Identity:  c.parties[c.random.IntN(3)].Identity,
		Direction: []task.Direction{task.Both, task.Inbound, task.Outbound}[c.random.IntN(3)],
		Limit:     1 + c.random.IntN(20),
	}
	sometimes := func(set func(of task.View)) {
		if c.random.IntN(4) == 0 {
			set(c.tasks[c.random.IntN(len(c.tasks))])
		}
	}
	if c.random.IntN(2) == 0 {
		q.State = task.States[c.random.IntN(len(task.States))]
	}
	sometimes(func(v task.View) { q.Requester = v.Caller.Handle })
	sometimes(func(v task.View) { q.Worker = v.Target.Handle })
	sometimes(func(v task.View) { q.Context = v.Task.Context })
	sometimes(func(v task.View) { q.Since = v.UpdatedAt })
	sometimes(func(v task.View) { q.CreatedSince = v.CreatedAt })
	return q
}

// walk gives all pages of a query; between runs before each page but the first.
func (b *bench) walk(q task.Query, between func()) (ids []task.ID) {
	b.Helper()
	for range 1000 {
		page, err := b.List(b.Context(), q)
		if err != nil {
			b.Fatal(err)
		}
		if len(page.Items) > q.Limit {
			b.Errorf("%d items on a page of %d", len(page.Items), q.Limit)
		}
		for _, t := range page.Items {
			ids = append(ids, t.ID)
		}
		if page.Next == nil {
			return ids
		}
		q.After = page.Next
		between()
	}
	b.Fatal("a walk without end")
	return nil
}

func TestListsAgainstAModel(t *testing.T) {
	b := newBench(t)
	c := newCrowd(b, 1, 120)
	for i := range 100 {
		q := c.query()
		if got, want := c.walk(q, func() {}), c.want(q); !slices.Equal(got, want) {
			t.Fatalf("query %d %+v: %d tasks, want %d\n%v\n%v", i, q, len(got), len(want), got, want)
		}
	}
}

// What stands still is never skipped and never shown twice, while others come and move; and what moves is shown at
// most once a page.
func TestWalksWhileOthersWrite(t *testing.T) {
	b := newBench(t)
	for seed := range uint64(2) {
		c := newCrowd(b, 100+seed, 60)
		for walk := range 10 {
			q := c.query()
			q.Limit = 1 + c.random.IntN(6)
			q.State = ""
			before := map[task.ID]int{}
			for _, v := range c.tasks {
				before[v.ID] = v.Version
			}
			want := c.want(q)
			got := c.walk(q, func() {
				for range 3 {
					c.move()
				}
				if c.random.IntN(3) == 0 {
					c.send()
				}
			})
			shown := map[task.ID]int{}
			for _, id := range got {
				shown[id]++
			}
			for _, v := range c.tasks {
				stood := before[v.ID] == v.Version
				if stood && slices.Contains(want, v.ID) && shown[v.ID] != 1 || shown[v.ID] > 1 {
					t.Errorf("seed %d, walk %d: task %s, still %v, shown %d times", seed, walk, v.ID, stood, shown[v.ID])
				}
			}
			if t.Failed() {
				return
			}
		}
	}
}

func TestPositionsOfOtherLists(t *testing.T) {
	b := newBench(t)
	for _, after := range [][]byte{{}, {1}, make([]byte, 23), make([]byte, 25)} {
		_, err := b.List(t.Context(), task.Query{Identity: b.to.Identity, Limit: 5, After: after})
		if _, invalid := err.(task.Invalid); !invalid {
			t.Errorf("a position of %d bytes: %v", len(after), err)
		}
	}
}

// A first page costs the same however many tasks there are.
func TestListUnitsDoNotGrow(t *testing.T) {
	b := newBench(t)
	type cost struct {
		read  float64
		calls int
	}
	pages := map[string]task.Query{
		"of one state": {Identity: b.to.Identity, Direction: task.Inbound, State: task.Submitted, Limit: 50},
		"of all":       {Identity: b.to.Identity, Direction: task.Both, Limit: 50},
	}
	measure := func() map[string]cost {
		costs := map[string]cost{}
		for name, q := range pages {
			read, _, calls := b.cost(func(ctx context.Context) error {
				page, err := b.List(ctx, q)
				if err == nil && len(page.Items) != 50 {
					err = fmt.Errorf("%d items", len(page.Items))
				}
				return err
			})
			costs[name] = cost{read, calls}
		}
		return costs
	}
	fill := func(n int) {
		atOnce(10, func(int) {
			for range n / 10 {
				if _, _, err := b.Send(t.Context(), task.Send{From: b.from, To: b.to, Message: text("please")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	fill(300) // more than all that a page reads ahead
	few := measure()
	fill(700)
	many := measure()
	t.Logf("300 tasks: %+v, 1,000 tasks: %+v", few, many)
	for name := range pages {
		if few[name] != many[name] {
			t.Errorf("a first page %s costs %+v with 300 tasks and %+v with 1,000", name, few[name], many[name])
		}
	}
	if one := many["of one state"]; one.calls != 1 || one.read > 8 {
		t.Errorf("a first page of one state: %+v", one)
	}
}

func TestClaimable(t *testing.T) {
	b := newBench(t)
	var sent []task.View
	for range 6 {
		sent = append(sent, b.send(text("please")))
		time.Sleep(2 * time.Millisecond)
	}
	lease := func(i int, ends time.Time) {
		was := mustLoad(b, sent[i].ID)
		now := was.Task
		now.Version, now.State, now.UpdatedAt = 2, task.Working, was.UpdatedAt.Add(time.Millisecond)
		now.Lease = &task.Lease{ID: task.NewID(), ExpiresAt: ends, Length: time.Minute}
		change := task.Change{Task: now.ID, Number: 2, Cause: task.CauseClaimed, State: task.Working, At: now.UpdatedAt, Caller: now.Caller, Target: now.Target}
		if _, err := b.tasks.Save(t.Context(), was, now, change); err != nil {
			t.Fatal(err)
		}
	}
	noon := time.Now().UTC().Truncate(time.Millisecond)
	lease(0, noon)
	lease(1, noon.Add(time.Millisecond))
	if _, err := b.Cancel(t.Context(), b.as(b.from.Party, sent[2]), "", false); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		limit int
		at    time.Time
		want  []int
	}{
		{50, noon, []int{0, 3, 4, 5}},
		{50, noon.Add(time.Millisecond), []int{0, 1, 3, 4, 5}},
		{2, noon, []int{0, 3, 4}},
	} {
		views, err := b.tasks.Claimable(t.Context(), b.to.Identity, row.limit, row.at)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, v := range views {
			got = append(got, slices.IndexFunc(sent, func(s task.View) bool { return s.ID == v.ID }))
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%d at %s: got %v, want %v", row.limit, row.at, got, row.want)
		}
	}
}

// A list's token saves, even where the head must spill into a page of the ledger that the list didn't read.
func TestSaveFromAList(t *testing.T) {
	b := newBench(t)
	v := b.send(withID(text("0"), "m0"))
	const n = 60
	for i := 1; i < n; i++ {
		if _, err := b.AddMessage(t.Context(), b.as(b.from.Party, v), withID(text("x"), fmt.Sprintf("m%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 40 {
		views, err := b.tasks.Claimable(t.Context(), b.to.Identity, 1, time.Now())
		if err != nil || len(views) != 1 {
			t.Fatal(len(views), err)
		}
		now := views[0].Task
		now.Version, now.UpdatedAt = now.Version+1, now.UpdatedAt.Add(time.Millisecond)
		now.Seen = append(slices.Clip(now.Seen), task.NewFingerprint(task.ByAgent, fmt.Sprint(round)))
		change := task.Change{Task: now.ID, Number: now.Version, Cause: task.CauseSet, State: now.State, At: now.UpdatedAt, Caller: now.Caller, Target: now.Target}
		if _, err := b.tasks.Save(t.Context(), views[0], now, change); err != nil {
			t.Fatal(err)
		}
	}
	got := mustLoad(b, v.ID)
	for i := range n {
		if !got.HasSeen(task.ByCaller, fmt.Sprintf("m%d", i)) {
			t.Errorf("m%d is forgotten", i)
		}
	}
	if len(got.Seen) != n+40 {
		t.Errorf("%d message ids, want %d", len(got.Seen), n+40)
	}
}
