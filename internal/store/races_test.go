package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"baton/internal/task"

	"github.com/anishathalye/porcupine"
)

// atOnce runs n calls at the same time and waits for them.
func atOnce(n int, call func(i int)) {
	var ready, done sync.WaitGroup
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			call(i)
		})
	}
	done.Wait()
}

// Of 50 that end a task on the same version one wins, and the others leave nothing.
func TestConflictingWrites(t *testing.T) {
	b := newBench(t)
	v := b.send(text("please"))
	var won atomic.Int32
	atOnce(50, func(i int) {
		e := b.as(b.to, v)
		e.IfVersions = []int{1}
		_, err := b.Reply(t.Context(), e, task.Progress, task.ID{}, text(fmt.Sprint(i)))
		switch {
		case err == nil:
			won.Add(1)
		case !errors.Is(err, task.ErrPrecondition):
			t.Error(err)
		}
	})
	if won.Load() != 1 {
		t.Errorf("%d won", won.Load())
	}
	b.whole(mustLoad(b, v.ID), 2, 2, task.Working)
}

// Writes that are the same in every byte, at the same moment, are still two: one wins.
func TestTwins(t *testing.T) {
	b := newBench(t)
	for range 10 {
		v := mustLoad(b, b.send(text("please")).ID)
		now := v.Task
		now.Version, now.State, now.UpdatedAt = 2, task.Failed, v.UpdatedAt.Add(time.Millisecond)
		change := task.Change{Task: v.ID, Number: 2, Cause: task.CauseSet, State: task.Failed, At: now.UpdatedAt, Caller: v.Caller, Target: v.Target}
		var won atomic.Int32
		atOnce(5, func(int) {
			_, err := b.tasks.Save(t.Context(), v, now, change)
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, task.ErrStale):
				t.Error(err)
			}
		})
		if won.Load() != 1 {
			t.Errorf("%d of five twins won", won.Load())
		}
	}
}

// Writes that are all legal in any order are all made, however many come at once.
func TestLegalWritesAllPass(t *testing.T) {
	b := newBench(t)
	v := b.send(text("please"))
	const n = 20
	atOnce(n, func(i int) {
		if _, err := b.AddMessage(t.Context(), b.as(b.from.Party, v), text(fmt.Sprint(i))); err != nil {
			t.Error(err)
		}
	})
	b.whole(mustLoad(b, v.ID), n+1, n+1, task.Submitted)
}

// A canceled task never says anything else later, and what came too late left nothing.
func TestCancelAgainstComplete(t *testing.T) {
	b := newBench(t)
	const races = 200
	var canceled atomic.Int32
	for batch := 0; batch < races; batch += 10 {
		atOnce(10, func(int) {
			v, _, err := b.Send(t.Context(), task.Send{From: b.from, To: b.to, Message: text("please")})
			if err != nil {
				t.Error(err)
				return
			}
			errs := make([]error, 2)
			atOnce(2, func(i int) {
				if i == 0 {
					_, errs[i] = b.Cancel(t.Context(), b.as(b.from.Party, v), "", false)
				} else {
					_, errs[i] = b.Reply(t.Context(), b.as(b.to, v), task.Complete, task.ID{}, text("done"))
				}
			})
			got, err := b.tasks.Load(t.Context(), v.ID, false)
			want, messages, loser := task.Canceled, 1, errs[1]
			if errs[0] != nil {
				want, messages, loser = task.Completed, 2, errs[0]
			} else {
				canceled.Add(1)
			}
			if err != nil || got.State != want || got.Version != 2 || len(got.History) != messages || !errors.Is(loser, task.ErrTerminal) {
				t.Errorf("%s, version %d with %d messages, %v; cancel: %v, complete: %v", got.State, got.Version, len(got.History), err, errs[0], errs[1])
			}
		})
	}
	t.Logf("%d of %d were canceled", canceled.Load(), races)
}

// One message id makes one task and one message, however often and however much at once it comes.
func TestParallelRetries(t *testing.T) {
	b := newBench(t)
	const n = 20
	var made atomic.Int32
	ids := make([]task.ID, n)
	atOnce(n, func(i int) {
		d := withID(text(fmt.Sprintf("worded differently %d", i)), "first")
		v, created, err := b.Send(t.Context(), task.Send{From: b.from, To: b.to, Message: d})
		if err != nil {
			t.Error(err)
		}
		if created {
			made.Add(1)
		}
		ids[i] = v.ID
	})
	for _, id := range ids {
		if id != ids[0] {
			t.Fatal("two tasks")
		}
	}
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
	v := mustLoad(b, ids[0])
	b.whole(v, 1, 1, task.Submitted)
	version := 1
	for _, w := range []struct {
		name string
		make func() (task.View, error)
	}{
		{"add", func() (task.View, error) {
			return b.AddMessage(t.Context(), b.as(b.from.Party, v), withID(text("more"), "second"))
		}},
		{"reply", func() (task.View, error) {
			return b.Reply(t.Context(), b.as(b.to, v), task.AskCaller, task.ID{}, withID(text("what?"), "second"))
		}},
		{"cancel", func() (task.View, error) {
			return b.Cancel(t.Context(), b.as(b.from.Party, v), "third", false)
		}},
	} {
		version++
		atOnce(n, func(int) {
			if _, err := w.make(); err != nil {
				t.Errorf("%s: %v", w.name, err)
			}
		})
		if got := mustLoad(b, v.ID); got.Version != version {
			t.Errorf("%s: version %d, want %d", w.name, got.Version, version)
		}
	}
	// The task ended: what was accepted before is still recognised, what was not is refused.
	if got, err := b.AddMessage(t.Context(), b.as(b.from.Party, v), withID(text("more"), "second")); err != nil || got.Version != version {
		t.Errorf("a retry after the end: version %d, %v", got.Version, err)
	}
	if _, err := b.AddMessage(t.Context(), b.as(b.from.Party, v), withID(text("more"), "another")); !errors.Is(err, task.ErrTerminal) {
		t.Errorf("a new message after the end: %v", err)
	}
	// The sent message's id is taken for the requester, not for the worker.
	if got, err := b.AddMessage(t.Context(), b.as(b.from.Party, v), withID(text("more"), "first")); err != nil || got.Version != version {
		t.Errorf("an add with the send's message id: version %d, %v", got.Version, err)
	}
}

// 100 sends at once into one conversation all get in, and the 101st is told that it is full.
func TestContextFills(t *testing.T) {
	b := newBench(t)
	first := b.send(text("please"))
	send := func(from task.Caller, to task.Party) error {
		_, _, err := b.Send(t.Context(), task.Send{From: from, To: to, Context: first.Context, Message: text("please")})
		return err
	}
	back := task.Caller{Party: b.to}
	atOnce(task.MaxTasks-1, func(i int) {
		from, to := b.from, b.to
		if i%2 == 0 {
			from, to = back, b.from.Party
		}
		if err := send(from, to); err != nil {
			t.Error(err)
		}
	})
	if err := send(b.from, b.to); !errors.Is(err, task.ErrContextFull) {
		t.Errorf("task %d: %v", task.MaxTasks+1, err)
	}
	stranger := task.Party{Identity: task.NewID()}
	if err := send(b.from, stranger); !errors.Is(err, task.ErrContextNotFound) {
		t.Errorf("another worker: %v", err)
	}
	if err := send(task.Caller{Party: stranger}, b.to); !errors.Is(err, task.ErrContextNotFound) {
		t.Errorf("another requester: %v", err)
	}
	_, _, err := b.Send(t.Context(), task.Send{From: b.from, To: b.to, Context: task.NewID(), Message: text("x")})
	if !errors.Is(err, task.ErrContextNotFound) {
		t.Errorf("a context that isn't there: %v", err)
	}
}

// A replay is looked for before anything would refuse the send.
func TestReplayWinsOverRefusals(t *testing.T) {
	b := newBench(t)
	refused := errors.New("not admitted")
	send := func(s task.Send) (task.View, bool, error) {
		s.From, s.To = b.from, b.to
		return b.Send(t.Context(), s)
	}
	if _, _, err := send(task.Send{Message: withID(text("x"), "1"), Refused: refused}); !errors.Is(err, refused) {
		t.Errorf("a first send: %v", err)
	}
	if _, _, err := send(task.Send{Message: text("x"), Refused: refused}); !errors.Is(err, refused) {
		t.Errorf("a send without a message id: %v", err)
	}
	made, _, err := send(task.Send{Message: withID(text("x"), "1")})
	if err != nil {
		t.Fatal(err)
	}
	for what, s := range map[string]task.Send{
		"no longer admitted":            {Message: withID(text("x"), "1"), Refused: refused},
		"a context that isn't there":    {Message: withID(text("x"), "1"), Context: task.NewID()},
		"another text, without content": {Message: withID(text("y"), "1"), Minimal: true},
	} {
		if got, created, err := send(s); err != nil || created || got.ID != made.ID {
			t.Errorf("%s: %v, created %v", what, err, created)
		}
	}
	b.faults.On("Query").Always().Refuse() // then nobody knows whether it was sent before
	defer b.faults.Reset()
	if _, _, err := send(task.Send{Message: withID(text("x"), "1"), Refused: refused}); !errors.Is(err, task.ErrUnavailable) || errors.Is(err, refused) {
		t.Errorf("no longer admitted, while storage is down: %v", err)
	}
}

// command is one call of a concurrent history, as the model sees it.
type command struct {
	name string
	make func(b *bench, v task.View) (task.View, error)
	to   task.State // "" leaves the state
	by   task.Role
	says bool
}

var concurrent = []command{
	{"progress", func(b *bench, v task.View) (task.View, error) {
		return b.Reply(b.Context(), b.as(b.to, v), task.Progress, task.ID{}, text("on it"))
	}, task.Working, task.ByAgent, true},
	{"ask", func(b *bench, v task.View) (task.View, error) {
		return b.Reply(b.Context(), b.as(b.to, v), task.AskCaller, task.ID{}, text("what?"))
	}, task.InputRequired, task.ByAgent, true},
	{"complete", func(b *bench, v task.View) (task.View, error) {
		return b.Reply(b.Context(), b.as(b.to, v), task.Complete, task.ID{}, text("done"))
	}, task.Completed, task.ByAgent, true},
	{"reject", func(b *bench, v task.View) (task.View, error) {
		return b.Reply(b.Context(), b.as(b.to, v), task.Reject, task.ID{}, text("won't"))
	}, task.Rejected, task.ByAgent, true},
	{"set failed", func(b *bench, v task.View) (task.View, error) {
		return b.Set(b.Context(), b.as(b.to, v), task.Failed, task.Draft{})
	}, task.Failed, task.ByAgent, false},
	{"add", func(b *bench, v task.View) (task.View, error) {
		return b.AddMessage(b.Context(), b.as(b.from.Party, v), text("more"))
	}, "", task.ByCaller, true},
	{"cancel", func(b *bench, v task.View) (task.View, error) {
		return b.Cancel(b.Context(), b.as(b.from.Party, v), "", false)
	}, task.Canceled, task.ByCaller, false},
	{"read", func(b *bench, v task.View) (task.View, error) {
		return b.Read(b.Context(), b.as(b.to, v).Viewer, v.ID, false)
	}, "", "", false},
}

// seen is what a call shows of the task, or why it was refused.
type seen struct {
	state             task.State
	version, messages int
	history           string // who spoke, in order
	err               error
}

func look(v task.View, err error) seen {
	if err != nil {
		for _, known := range []error{task.ErrTerminal, task.ErrTransition} {
			if errors.Is(err, known) {
				return seen{err: known}
			}
		}
		return seen{err: err}
	}
	var who strings.Builder
	for _, m := range v.History {
		who.WriteByte(m.Role[0])
	}
	return seen{v.State, v.Version, v.Messages, who.String(), nil}
}

// model is the state machine of contract section 2 in its own words.
var model = porcupine.Model{
	Init: func() any { return seen{task.Submitted, 1, 1, "c", nil} },
	Step: func(state, input, output any) (bool, any) {
		now, c, out := state.(seen), input.(command), output.(seen)
		switch {
		case c.name == "read":
			return out == now, now
		case c.name == "cancel" && now.state == task.Canceled:
			return out == now, now
		case now.state.Terminal():
			return out.err == task.ErrTerminal, now
		case c.name == "reject" && strings.ContainsRune(now.history, 'a'):
			return out.err == task.ErrTransition, now
		}
		next := now
		next.version++
		switch {
		case c.to != "":
			next.state = c.to
		case now.state == task.InputRequired:
			next.state = task.Working
		}
		if c.says {
			next.messages++
			next.history += string(c.by[0])
		}
		return out == next, next
	},
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%s: %+v", input.(command).name, output.(seen))
	},
}

// Whatever is asked of one task at once, the answers are those of some order of the calls, one after the other, that
// agrees with the clock.
func TestLinearizable(t *testing.T) {
	b := newBench(t)
	const histories, clients, calls = 25, 5, 5
	for history := range histories {
		v := b.send(text("please"))
		start := time.Now()
		var mu sync.Mutex
		var operations []porcupine.Operation
		atOnce(clients, func(client int) {
			random := rand.New(rand.NewPCG(uint64(history), uint64(client)))
			for range calls {
				// What ends a task is rare, or there would be little to see.
				c := concurrent[random.IntN(len(concurrent))]
				if c.to.Terminal() && c.to != "" && random.IntN(3) > 0 {
					c = concurrent[len(concurrent)-1]
				}
				called := time.Since(start)
				out := look(c.make(b, v))
				returned := time.Since(start)
				mu.Lock()
				operations = append(operations, porcupine.Operation{
					ClientId: client, Input: c, Call: called.Nanoseconds(), Output: out, Return: returned.Nanoseconds(),
				})
				mu.Unlock()
			}
		})
		if !porcupine.CheckOperations(model, operations) {
			for _, o := range operations {
				t.Logf("%d-%d client %d %s", o.Call, o.Return, o.ClientId, model.DescribeOperation(o.Input, o.Output))
			}
			t.Fatalf("history %d has no order", history)
		}
	}
}

// A long random conversation, retries included, is what a list of what was accepted says it is.
func TestRandomConversations(t *testing.T) {
	b := newBench(t)
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 7))
		b.from.Identity = task.NewID() // whose message ids are its own
		v := b.send(withID(text("0"), "m0"))
		accepted := map[string]bool{"c m0": true} // by author and message id
		said := []string{"c 0"}
		state, version := task.Submitted, 1
		for step := range 40 {
			id := fmt.Sprintf("m%d", random.IntN(step+2))
			what := fmt.Sprint(step)
			c := concurrent[random.IntN(len(concurrent)-1)]
			if c.to.Terminal() && c.to != "" && step < 25 {
				continue
			}
			intents := map[task.State]task.Intent{
				task.Working: task.Progress, task.InputRequired: task.AskCaller, task.Completed: task.Complete, task.Rejected: task.Reject,
			}
			var got task.View
			var err error
			switch {
			case c.name == "add":
				got, err = b.AddMessage(t.Context(), b.as(b.from.Party, v), withID(text(what), id))
			case c.name == "cancel":
				got, err = b.Cancel(t.Context(), b.as(b.from.Party, v), id, false)
			case !c.says:
				got, err = b.Set(t.Context(), b.as(b.to, v), c.to, withID(task.Draft{}, id))
			default:
				got, err = b.Reply(t.Context(), b.as(b.to, v), intents[c.to], task.ID{}, withID(text(what), id))
			}
			key := string(c.by[0]) + " " + id
			var want error
			spoke := strings.Contains(strings.Join(said, ""), "a ")
			switch {
			case accepted[key], c.name == "cancel" && state == task.Canceled:
			case state.Terminal():
				want = task.ErrTerminal
			case c.to == task.Rejected && spoke:
				want = task.ErrTransition
			default:
				accepted[key] = true
				version++
				if c.to != "" {
					state = c.to
				} else if state == task.InputRequired {
					state = task.Working
				}
				if c.says {
					said = append(said, string(c.by[0])+" "+what)
				}
			}
			if !errors.Is(err, want) {
				t.Fatalf("seed %d, step %d: %s in %s: %v, want %v", seed, step, c.name, state, err, want)
			}
			stored, loadErr := b.tasks.Load(t.Context(), v.ID, false)
			if loadErr != nil {
				t.Fatal(loadErr)
			}
			for _, view := range []task.View{got, stored} {
				if err != nil && view.ID.IsZero() {
					continue
				}
				var lines []string
				for _, m := range view.History {
					lines = append(lines, string(m.Role[0])+" "+*m.Parts[0].Text)
				}
				if view.State != state || view.Version != version || strings.Join(lines, "\n") != strings.Join(said, "\n") {
					t.Fatalf("seed %d, step %d: after %s: %s, version %d, %q; want %s, %d, %q",
						seed, step, c.name, view.State, view.Version, lines, state, version, said)
				}
			}
		}
	}
}
