package store_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"baton/internal/store"
	"baton/internal/task"
)

func (b *bench) worker() task.Viewer {
	return task.Viewer{Identity: b.to.Identity, Organization: b.to.Organization}
}

// ledger notes what the claimers of tasks were told, in any order.
type ledger struct {
	mu     sync.Mutex
	claims map[task.ID][]task.View
	until  map[task.ID]time.Time // by lease: the latest end that was told
	ended  map[task.ID]int
}

func (l *ledger) claimed(v task.View) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims[v.ID] = append(l.claims[v.ID], v)
	l.until[v.Lease.ID] = v.Lease.ExpiresAt
}

func (l *ledger) renewed(lease task.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until[lease.ID] = lease.ExpiresAt
}

func (l *ledger) end(id task.ID) (ended int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[id]++
	return len(l.ended)
}

// check finds tasks that two had at a time, and says how many leases ran out.
func (l *ledger) check(t *testing.T) (ranOut int) {
	for id, claims := range l.claims {
		slices.SortFunc(claims, func(a, b task.View) int { return a.Version - b.Version })
		for i, v := range claims[1:] {
			ranOut++
			if before := l.until[claims[i].Lease.ID]; v.UpdatedAt.Before(before) {
				t.Errorf("%s was claimed at %s, and held until %s", id, v.UpdatedAt, before)
			}
		}
		if l.ended[id] > 1 {
			t.Errorf("%s ended %d times", id, l.ended[id])
		}
	}
	return ranOut
}

// Twenty claimers work on two hundred tasks, and one claim in ten is never heard of again. Every task is worked on by
// one at a time, and all of them finish.
func TestClaimers(t *testing.T) {
	const tasks, claimers, lease = 200, 20, 2 * time.Second
	b := newBench(t)
	var sends sync.WaitGroup
	for range 8 {
		sends.Go(func() {
			for range tasks / 8 {
				b.send(text("work"))
			}
		})
	}
	sends.Wait()

	l := &ledger{claims: map[task.ID][]task.View{}, until: map[task.ID]time.Time{}, ended: map[task.ID]int{}}
	done := make(chan struct{})
	var all sync.WaitGroup
	for range claimers {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				claimed, err := b.Claim(t.Context(), b.worker(), 1+rand.IntN(3), lease, 200*time.Millisecond)
				if err != nil {
					t.Error(err)
					return
				}
				for _, v := range claimed {
					l.claimed(v)
				}
				for _, v := range claimed {
					if died := rand.IntN(10) == 0; !died && b.work(l, v) && l.end(v.ID) == tasks {
						close(done)
					}
				}
			}
		})
	}
	all.Wait()
	if ranOut := l.check(t); len(l.ended) != tasks || ranOut == 0 {
		t.Errorf("%d of %d tasks ended, %d leases ran out", len(l.ended), tasks, ranOut)
	}
	for id := range l.ended {
		v := mustLoad(b, id)
		if v.State != task.Completed || v.Lease != nil || v.Result.Text != "done" {
			t.Errorf("%s is %s", id, v.State)
		}
	}
}

// work works on a claimed task and says whether it ended it.
func (b *bench) work(l *ledger, v task.View) bool {
	worker := b.as(b.to, v)
	if rand.IntN(4) == 0 {
		renewed, err := b.Renew(b.Context(), worker, v.Lease.ID)
		if err == nil {
			l.renewed(*renewed.Lease)
		} else if !errors.Is(err, task.ErrLeaseLost) && !errors.Is(err, task.ErrTerminal) {
			b.Error(err)
		}
	}
	_, err := b.Reply(b.Context(), worker, task.Complete, v.Lease.ID, text("done"))
	if err != nil && !errors.Is(err, task.ErrLeaseLost) && !errors.Is(err, task.ErrTerminal) {
		b.Error(err)
	}
	return err == nil
}

func TestClaimLifecycle(t *testing.T) {
	b := newBench(t)
	start := time.Now()
	clock := start
	b.Service = task.NewService(b.tasks, func() time.Time { return clock })
	claim := func(most int) []task.View {
		t.Helper()
		claimed, err := b.Claim(t.Context(), b.worker(), most, time.Minute, 0)
		if err != nil {
			t.Fatal(err)
		}
		return claimed
	}
	if got := claim(10); len(got) != 0 {
		t.Fatalf("%d claimed of nothing", len(got))
	}
	v := b.send(text("please"))
	requester, worker := b.as(b.from.Party, v), b.as(b.to, v)

	first := claim(10)
	if len(first) != 1 || first[0].State != task.Working || first[0].Lease == nil || len(first[0].History) != 1 || first[0].FirstText != "please" {
		t.Fatalf("claimed %+v", first)
	}
	if c, err := b.tasks.Change(t.Context(), v.ID, 2); err != nil || c.Cause != task.CauseClaimed || c.Message != nil || len(c.Notices()) != 1 {
		t.Errorf("the claim's change: %+v, %v", c, err)
	}
	lease := first[0].Lease.ID

	clock = start.Add(50 * time.Second)
	if _, err := b.Renew(t.Context(), worker, lease); err != nil {
		t.Fatal(err)
	}
	clock = start.Add(100 * time.Second)
	if got := claim(1); len(got) != 0 {
		t.Error("a renewed lease was given away")
	}
	if v, err := b.Reply(t.Context(), worker, task.Progress, lease, text("half")); err != nil || v.Version != 3 {
		t.Error("progress under the lease:", v.Version, err)
	}
	clock = start.Add(155 * time.Second)
	if got := claim(1); len(got) != 0 {
		t.Error("a lease that progress renewed was given away")
	}
	clock = start.Add(161 * time.Second)
	second := claim(1)
	if len(second) != 1 || second[0].Lease.ID == lease {
		t.Fatalf("a lease that ran out was not given away: %+v", second)
	}
	if _, err := b.Reply(t.Context(), worker, task.Complete, lease, text("late")); !errors.Is(err, task.ErrLeaseLost) {
		t.Error("reply of the one who was too slow:", err)
	}
	if _, err := b.Renew(t.Context(), worker, lease); !errors.Is(err, task.ErrLeaseLost) {
		t.Error("renewal of the one who was too slow:", err)
	}
	if _, err := b.Reply(t.Context(), worker, task.AskCaller, second[0].Lease.ID, text("how much?")); err != nil {
		t.Fatal(err)
	}
	clock = start.Add(time.Hour)
	if got := claim(1); len(got) != 0 {
		t.Error("a task that asks was claimed")
	}
	if _, err := b.AddMessage(t.Context(), requester, text("42")); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(time.Millisecond)
	third := claim(1)
	if len(third) != 1 || len(third[0].History) != 4 {
		t.Fatalf("the answer made nothing free: %+v", third)
	}
	if v, err := b.Cancel(t.Context(), requester, "", false); err != nil || v.Lease != nil {
		t.Error("cancel:", err)
	}
	if _, err := b.Reply(t.Context(), worker, task.Complete, third[0].Lease.ID, text("late")); !errors.Is(err, task.ErrTerminal) {
		t.Error("reply to a canceled task:", err)
	}
}

// A renewal and a message of the requester overlap: neither is lost.
func TestRenewalsOverlapWithMessages(t *testing.T) {
	b := newBench(t)
	b.send(text("please"))
	claimed, err := b.Claim(t.Context(), b.worker(), 1, time.Minute, 0)
	if err != nil || len(claimed) != 1 {
		t.Fatal(len(claimed), err)
	}
	v := claimed[0]
	var both sync.WaitGroup
	both.Go(func() {
		for range 15 {
			if _, err := b.AddMessage(t.Context(), b.as(b.from.Party, v), text("more")); err != nil {
				t.Error(err)
			}
		}
	})
	both.Go(func() {
		for range 15 {
			if _, err := b.Renew(t.Context(), b.as(b.to, v), v.Lease.ID); err != nil {
				t.Error(err)
			}
		}
	})
	both.Wait()
	got := mustLoad(b, v.ID)
	if got.Messages != 16 || got.Version != 17 || got.Lease.ID != v.Lease.ID || !got.Lease.ExpiresAt.After(v.Lease.ExpiresAt) {
		t.Errorf("%d messages, version %d, lease until %s", got.Messages, got.Version, got.Lease.ExpiresAt)
	}
}

func TestClaimWaits(t *testing.T) {
	b := newBench(t)
	began := time.Now()
	sent := make(chan task.View)
	go func() {
		time.Sleep(300 * time.Millisecond)
		sent <- b.send(text("please"))
	}()
	claimed, err := b.Claim(t.Context(), b.worker(), 1, time.Minute, 20*time.Second)
	if v := <-sent; err != nil || len(claimed) != 1 || claimed[0].ID != v.ID {
		t.Fatalf("%d claimed, %v", len(claimed), err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if claimed, err := b.Claim(t.Context(), b.worker(), 1, time.Minute, 300*time.Millisecond); err != nil || len(claimed) != 0 {
		t.Errorf("%d claimed, %v", len(claimed), err)
	}
}

// What was claimed is told although a further claim failed: nobody else could have it before its lease ends.
func TestClaimTellsWhatItGot(t *testing.T) {
	b := newBench(t)
	for range 4 {
		b.send(text("please"))
	}
	b.faults.Reset()
	b.faults.On("TransactWriteItems").After(1).Always().Fail(http.StatusBadRequest, "AccessDeniedException")
	claimed, err := b.Claim(t.Context(), b.worker(), 4, time.Minute, 0)
	if err != nil || len(claimed) != 1 {
		t.Errorf("%d claimed, %v", len(claimed), err)
	}
	b.faults.Reset()
	b.faults.On("TransactWriteItems").Always().Fail(http.StatusBadRequest, "AccessDeniedException")
	if _, err := b.Claim(t.Context(), b.worker(), 4, time.Minute, 0); !errors.Is(err, task.ErrUnavailable) {
		t.Error("claim without storage:", err)
	}
}

// While another write holds a task's head, nothing that is known of the context counts: a retry of a send must not be
// refused as if it were a new one.
func TestRetryMeetsItsOwnTaskInAnothersHands(t *testing.T) {
	b := newBench(t)
	conversation := b.send(text("first")).Context
	again := task.Send{From: b.from, To: b.to, Context: conversation, Message: withID(text("second"), "m")}
	v, _, err := b.Send(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	b.faults.Reset()
	b.faults.On("TransactWriteItems").Times(2).Answer(http.StatusBadRequest, canceled("TransactionConflict", "None", "ConditionalCheckFailed"))
	got, created, err := b.Send(t.Context(), again)
	if err != nil || created || got.ID != v.ID {
		t.Errorf("got %s, created %v, %v", got.ID, created, err)
	}
	b.faults.Reset()
}

// A claim reads what it may claim, and not the tasks that others hold: those only when one of their leases may have run
// out. It is found then, whoever made it, and an answer makes a task claimable at once.
func TestClaimAmongLeasedTasks(t *testing.T) {
	b := newBench(t)
	const leased = 60
	for range leased {
		b.send(text("work"))
	}
	elsewhere := task.NewService(store.NewTasks(b.db, b.table), time.Now)
	var held []task.View
	for len(held) < leased {
		claimed, err := elsewhere.Claim(t.Context(), b.worker(), 10, 30*time.Second, 0)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, claimed...)
	}
	claimable := func(at time.Time) (ids []task.ID, units float64) {
		t.Helper()
		units, _, _ = b.cost(func(ctx context.Context) error {
			views, err := b.tasks.Claimable(ctx, b.to.Identity, 50, at)
			for _, v := range views {
				ids = append(ids, v.ID)
			}
			return err
		})
		return ids, units
	}
	start := time.Now()
	if ids, units := claimable(start); len(ids) > 0 || units < leased/20 {
		t.Errorf("the first look finds %d tasks for %v units", len(ids), units)
	}
	for _, later := range []time.Duration{0, time.Second, 20 * time.Second} {
		if ids, units := claimable(start.Add(later)); len(ids) > 0 || units > 1 {
			t.Errorf("after %v, %d tasks for %v units", later, len(ids), units)
		}
	}
	asked, answered := b.as(b.to, held[7]), b.as(b.from.Party, held[7])
	if _, err := elsewhere.Reply(t.Context(), asked, task.AskCaller, held[7].Lease.ID, text("which?")); err != nil {
		t.Fatal(err)
	}
	if ids, _ := claimable(start); len(ids) > 0 {
		t.Errorf("a task that waits for its answer is claimable: %v", ids)
	}
	if _, err := elsewhere.AddMessage(t.Context(), answered, text("that one")); err != nil {
		t.Fatal(err)
	}
	if ids, units := claimable(time.Now()); !slices.Equal(ids, []task.ID{held[7].ID}) || units > 2 {
		t.Errorf("after its answer %v is claimable, for %v units", ids, units)
	}
	if ids, _ := claimable(held[leased-1].Lease.ExpiresAt); len(ids) != 50+1 {
		t.Errorf("when all leases ran out, %d tasks are claimable", len(ids))
	}
	// One that is made here, however short, is looked for when it ends.
	claimed, err := b.Claim(t.Context(), b.worker(), 1, 2*time.Second, 0)
	if err != nil || len(claimed) != 1 || claimed[0].ID != held[7].ID {
		t.Fatal(claimed, err)
	}
	if ids, _ := claimable(claimed[0].Lease.ExpiresAt); !slices.Contains(ids, held[7].ID) {
		t.Error("a lease that was made here ran out and was not found")
	}
}

// A lease that was made elsewhere since the last look is found when it runs out.
func TestLeaseMadeElsewhere(t *testing.T) {
	b := newBench(t)
	if views, err := b.tasks.Claimable(t.Context(), b.to.Identity, 50, time.Now()); err != nil || len(views) > 0 {
		t.Fatal(views, err)
	}
	v := b.send(text("work"))
	elsewhere := task.NewService(store.NewTasks(b.db, b.table), time.Now)
	claimed, err := elsewhere.Claim(t.Context(), b.worker(), 1, 30*time.Second, 0)
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	ends := claimed[0].Lease.ExpiresAt
	for at, want := range map[time.Time]int{ends.Add(-time.Millisecond): 0, ends: 1} {
		if views, err := b.tasks.Claimable(t.Context(), b.to.Identity, 50, at); err != nil || len(views) != want {
			t.Errorf("at %v of a lease of %s: %d tasks, %v", at.Sub(ends), v.ID, len(views), err)
		}
	}
}
