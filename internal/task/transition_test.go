package task

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func says(s string) Message { return Message{ID: NewID(), Parts: []Part{{Text: &s}}} }

// newTask is a submitted task that asks for something.
func newTask() Task {
	t, _ := sent(NewID(), NewID(), Caller{Party: Party{Identity: NewID()}}, Party{Identity: NewID()}, says("please"), noon)
	return t
}

// in is a task that came to a state by the shortest way.
func in(s State) Task {
	t := newTask()
	var err error
	switch s {
	case Submitted:
	case Canceled:
		t, _, err = t.cancel("", noon)
	default:
		for intent, to := range Intents {
			if to == s {
				t, _, err = t.reply(intent, ID{}, says("so be it"), noon)
			}
		}
	}
	if err != nil {
		panic(err)
	}
	return t
}

// commands are all that can be asked of a task. None of them names a lease.
var commands = map[string]func(Task) (Task, Change, error){
	"add": func(t Task) (Task, Change, error) { return t.add(says("more"), noon) },
	"progress": func(t Task) (Task, Change, error) {
		return t.reply(Progress, ID{}, says("on it"), noon)
	},
	"ask": func(t Task) (Task, Change, error) {
		return t.reply(AskCaller, ID{}, says("what?"), noon)
	},
	"complete": func(t Task) (Task, Change, error) {
		return t.reply(Complete, ID{}, says("done"), noon)
	},
	"fail":   func(t Task) (Task, Change, error) { return t.reply(Fail, ID{}, says("can't"), noon) },
	"reject": func(t Task) (Task, Change, error) { return t.reply(Reject, ID{}, says("won't"), noon) },
	"cancel": func(t Task) (Task, Change, error) { return t.cancel("", noon) },
	"claim":  func(t Task) (Task, Change, error) { return t.claim(NewID(), time.Minute, noon) },
	"set result": func(t Task) (Task, Change, error) {
		m := says("so far")
		return t.set("", &m, "", noon)
	},
	"set submitted":      func(t Task) (Task, Change, error) { return t.set(Submitted, nil, "", noon) },
	"set working":        func(t Task) (Task, Change, error) { return t.set(Working, nil, "", noon) },
	"set input_required": func(t Task) (Task, Change, error) { return t.set(InputRequired, nil, "", noon) },
	"set completed":      func(t Task) (Task, Change, error) { return t.set(Completed, nil, "", noon) },
	"set failed":         func(t Task) (Task, Change, error) { return t.set(Failed, nil, "", noon) },
	"set canceled":       func(t Task) (Task, Change, error) { return t.set(Canceled, nil, "", noon) },
	"set rejected":       func(t Task) (Task, Change, error) { return t.set(Rejected, nil, "", noon) },
}

// sealed is the row of a terminal state: nothing is allowed.
var sealed = map[string]any{
	"add": ErrTerminal, "progress": ErrTerminal, "ask": ErrTerminal, "complete": ErrTerminal, "fail": ErrTerminal,
	"reject": ErrTerminal, "cancel": ErrTerminal, "claim": ErrTransition, "set result": ErrTerminal,
	"set submitted": ErrTerminal, "set working": ErrTerminal, "set input_required": ErrTerminal,
	"set completed": ErrTerminal, "set failed": ErrTerminal, "set canceled": ErrTerminal, "set rejected": ErrTerminal,
}

// rules is what every command makes of a task in every state: the next state, or why not. It is contract section 2
// written once more, so that state.go and transition.go can't be wrong together by one slip.
var rules = map[State]map[string]any{
	Submitted: {
		"add": Submitted, "progress": Working, "ask": InputRequired, "complete": Completed, "fail": Failed,
		"reject": Rejected, "cancel": Canceled, "claim": Working, "set result": Submitted,
		"set submitted": ErrTransition, "set working": Working, "set input_required": InputRequired,
		"set completed": Completed, "set failed": Failed, "set canceled": ErrTransition, "set rejected": Rejected,
	},
	Working: {
		"add": Working, "progress": Working, "ask": InputRequired, "complete": Completed, "fail": Failed,
		"reject": ErrTransition, "cancel": Canceled, "claim": ErrTransition, "set result": Working,
		"set submitted": ErrTransition, "set working": Working, "set input_required": InputRequired,
		"set completed": Completed, "set failed": Failed, "set canceled": ErrTransition, "set rejected": ErrTransition,
	},
	InputRequired: {
		"add": Working, "progress": Working, "ask": InputRequired, "complete": Completed, "fail": Failed,
		"reject": ErrTransition, "cancel": Canceled, "claim": ErrTransition, "set result": InputRequired,
		"set submitted": ErrTransition, "set working": Working, "set input_required": InputRequired,
		"set completed": Completed, "set failed": Failed, "set canceled": ErrTransition, "set rejected": ErrTransition,
	},
	Completed: sealed, Failed: sealed, Canceled: sealed, Rejected: sealed,
}

func TestEveryCommandInEveryState(t *testing.T) {
	for _, state := range States {
		if len(rules[state]) != len(commands) {
			t.Errorf("%s has rules for %d of %d commands", state, len(rules[state]), len(commands))
		}
		for name, command := range commands {
			t.Run(fmt.Sprintf("%s in %s", name, state), func(t *testing.T) {
				was := in(state)
				now, change, err := command(was)
				switch want := rules[state][name].(type) {
				case error:
					if !errors.Is(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
				case State:
					if err != nil || now.State != want || change.State != want {
						t.Errorf("got %s, change %s, %v; want %s", now.State, change.State, err, want)
					}
				default:
					t.Errorf("no rule")
				}
			})
		}
	}
	if len(rules) != len(States) {
		t.Errorf("rules for %d of %d states", len(rules), len(States))
	}
}

func TestTransition(t *testing.T) {
	t.Run("a worker that only set a state may still reject", func(t *testing.T) {
		was, _, _ := newTask().set(Working, nil, "", noon)
		if now, _, err := was.reply(Reject, ID{}, says("won't"), noon); err != nil || now.State != Rejected {
			t.Errorf("got %s, %v", now.State, err)
		}
	})
	t.Run("a reply without text leaves the result, and there is no question", func(t *testing.T) {
		was, _, _ := newTask().reply(Progress, ID{}, says("half"), noon)
		now, _, _ := was.reply(AskCaller, ID{}, Message{Parts: []Part{{Data: []byte("1")}}}, noon)
		if now.Result.Text != "half" || now.ResultChange != 2 {
			t.Errorf("result is %+v", now.Result)
		}
		if q, ok := now.Question(); ok {
			t.Errorf("question is %+v", q)
		}
	})
	t.Run("an ending without text has no error", func(t *testing.T) {
		was, _, _ := newTask().reply(Progress, ID{}, says("half"), noon)
		now, _, _ := was.set(Failed, nil, "", noon)
		if e, ok := now.Failure(); ok {
			t.Errorf("error is %+v", e)
		}
	})
	t.Run("a question is the asking text, an error the ending one", func(t *testing.T) {
		asked, _, _ := newTask().reply(AskCaller, ID{}, says("what?"), noon)
		if q, ok := asked.Question(); !ok || q.Text != "what?" {
			t.Errorf("question is %+v", q)
		}
		answered, _, _ := asked.add(says("that"), noon)
		if q, ok := answered.Question(); ok {
			t.Errorf("question after the answer is %+v", q)
		}
		failed, _, _ := answered.reply(Fail, ID{}, says("can't"), noon)
		if e, ok := failed.Failure(); !ok || e.Text != "can't" {
			t.Errorf("error is %+v", e)
		}
	})
	t.Run("artifacts are of the completing reply only", func(t *testing.T) {
		was, _, _ := newTask().reply(Progress, ID{}, says("half"), noon)
		done, _, _ := was.reply(Complete, ID{}, says("done"), noon)
		if done.Artifacts != 3 {
			t.Errorf("artifacts are of change %d", done.Artifacts)
		}
		if set, _, _ := was.set(Completed, nil, "", noon); set.Artifacts != 0 {
			t.Errorf("artifacts without a message are of change %d", set.Artifacts)
		}
	})
	t.Run("time strictly grows, whatever the clocks say", func(t *testing.T) {
		now, c, _ := newTask().add(says("more"), noon.Add(-time.Hour))
		if want := noon.Add(time.Millisecond); !now.UpdatedAt.Equal(want) || !c.At.Equal(want) || !c.Message.CreatedAt.Equal(want) {
			t.Errorf("updated at %s, change at %s", now.UpdatedAt, c.At)
		}
	})
	t.Run("a full task can be canceled and ended, but takes no message", func(t *testing.T) {
		full := in(Working)
		full.Messages = MaxMessages
		for _, name := range []string{"add", "progress", "complete", "fail", "set result"} {
			if _, _, err := commands[name](full); !errors.Is(err, ErrTaskFull) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, name := range []string{"cancel", "set completed", "set failed"} {
			if _, _, err := commands[name](full); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		full.Messages--
		if now, _, err := commands["add"](full); err != nil || !now.Full() {
			t.Errorf("message %d: %v", MaxMessages, err)
		}
	})
	t.Run("sealed wins over full", func(t *testing.T) {
		full := in(Completed)
		full.Messages = MaxMessages
		if _, _, err := commands["add"](full); !errors.Is(err, ErrTerminal) {
			t.Error(err)
		}
	})
	t.Run("a task out of change numbers can only be ended", func(t *testing.T) {
		last := in(Working)
		last.Version = maxVersion
		if _, _, err := commands["set working"](last); !errors.Is(err, ErrTaskFull) {
			t.Errorf("set working: %v", err)
		}
		if _, _, err := commands["cancel"](last); err != nil {
			t.Errorf("cancel: %v", err)
		}
	})
}

func TestLease(t *testing.T) {
	at := func(d time.Duration) time.Time { return noon.Add(d) }
	lease := NewID()
	claimed, change, err := newTask().claim(lease, time.Minute, noon)
	if err != nil || change.Cause != CauseClaimed || change.Message != nil {
		t.Fatal(change, err)
	}
	t.Run("a claimed task is nobody else's until the lease runs out", func(t *testing.T) {
		if claimed.Claimable(at(time.Minute - 1)) {
			t.Error("claimable before")
		}
		if !claimed.Claimable(at(time.Minute)) {
			t.Error("not claimable after")
		}
	})
	t.Run("a claim says nothing: the task may still be rejected", func(t *testing.T) {
		if now, _, err := claimed.reply(Reject, lease, says("no"), at(time.Second)); err != nil || now.State != Rejected {
			t.Errorf("%s, %v", now.State, err)
		}
	})
	t.Run("progress renews it", func(t *testing.T) {
		now, _, err := claimed.reply(Progress, lease, says("on it"), at(30*time.Second))
		if err != nil || !now.Lease.ExpiresAt.Equal(at(90*time.Second)) {
			t.Errorf("%+v, %v", now.Lease, err)
		}
	})
	t.Run("renewing moves the end and is no change", func(t *testing.T) {
		now, err := claimed.renew(lease, at(time.Second))
		if err != nil || !now.Lease.ExpiresAt.Equal(at(61*time.Second)) || now.Version != claimed.Version ||
			!now.UpdatedAt.Equal(claimed.UpdatedAt) {
			t.Errorf("%+v, %v", now, err)
		}
		if !claimed.Lease.ExpiresAt.Equal(at(time.Minute)) {
			t.Error("the task before it changed too")
		}
	})
	t.Run("asking ends it, and the answer makes the task claimable", func(t *testing.T) {
		asked, _, err := claimed.reply(AskCaller, lease, says("what?"), at(time.Second))
		if err != nil || asked.Claimable(at(time.Hour)) {
			t.Fatalf("claimable while it asks, %v", err)
		}
		if _, _, err := asked.reply(Complete, lease, says("done"), at(time.Second)); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("the lease while it asks: %v", err)
		}
		if _, err := asked.renew(lease, at(time.Second)); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("its renewal while it asks: %v", err)
		}
		answered, _, err := asked.add(says("that"), at(2*time.Second))
		if err != nil || !answered.Claimable(at(2*time.Second)) {
			t.Errorf("not claimable once answered, %v", err)
		}
		if _, _, err := answered.reply(Progress, lease, says("on it"), at(3*time.Second)); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("the old lease: %v", err)
		}
	})
	t.Run("the next claim ends it", func(t *testing.T) {
		other, _, err := claimed.claim(NewID(), time.Minute, at(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := other.reply(Complete, lease, says("done"), at(time.Minute)); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("reply: %v", err)
		}
		if _, err := other.renew(lease, at(time.Minute)); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("renewal: %v", err)
		}
	})
	t.Run("no lease survives the end", func(t *testing.T) {
		for _, name := range []string{"complete", "fail", "cancel", "set failed"} {
			if now, _, err := commands[name](claimed); err != nil || now.Lease != nil {
				t.Errorf("%s: %+v, %v", name, now.Lease, err)
			}
		}
		done, _, _ := claimed.reply(Complete, lease, says("done"), noon)
		if _, err := done.renew(lease, noon); !errors.Is(err, ErrTerminal) {
			t.Errorf("renewal after the end: %v", err)
		}
	})
	t.Run("the zero lease is nobody's", func(t *testing.T) {
		if _, err := in(Working).renew(ID{}, noon); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("never claimed: %v", err)
		}
		asked, _, _ := claimed.reply(AskCaller, lease, says("what?"), noon)
		if _, err := asked.renew(ID{}, noon); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("while it asks: %v", err)
		}
	})
}

// Whatever is asked of a task in whatever order, it stays a task.
func TestRandomCommands(t *testing.T) {
	names := make([]string, 0, len(commands))
	for name := range commands {
		names = append(names, name)
	}
	slices.Sort(names)
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		was := newTask()
		for step := range 30 {
			name := names[random.IntN(len(names))]
			before := was
			now, c, err := commands[name](was)
			if diff := same(before, was); diff != "" {
				t.Fatalf("seed %d, step %d: %s modified the task it was given: %s", seed, step, name, diff)
			}
			if err != nil {
				continue
			}
			spoke := c.Message != nil && c.Message.Role == ByAgent
			switch {
			case was.State.Terminal():
				t.Fatalf("seed %d, step %d: %s changed a task that ended", seed, step, name)
			case now.Version != was.Version+1 || c.Number != now.Version:
				t.Fatalf("seed %d, step %d: version %d follows %d", seed, step, now.Version, was.Version)
			case !now.UpdatedAt.After(was.UpdatedAt):
				t.Fatalf("seed %d, step %d: time does not grow", seed, step)
			case (c.Message != nil) != (now.Messages == was.Messages+1):
				t.Fatalf("seed %d, step %d: %d messages follow %d", seed, step, now.Messages, was.Messages)
			case now.CompletedAt.IsZero() == now.State.Terminal():
				t.Fatalf("seed %d, step %d: completed at %s in %s", seed, step, now.CompletedAt, now.State)
			case now.State == Rejected && (was.WorkerSpoke || !now.WorkerSpoke && spoke):
				t.Fatalf("seed %d, step %d: rejected after the worker spoke", seed, step)
			case now.Artifacts != 0 && now.State != Completed:
				t.Fatalf("seed %d, step %d: artifacts in %s", seed, step, now.State)
			case now.Lease != nil && now.State.Terminal():
				t.Fatalf("seed %d, step %d: a lease in %s", seed, step, now.State)
			case len(c.Notices()) == 0:
				t.Fatalf("seed %d, step %d: nobody is told of %s", seed, step, c.Cause)
			}
			was = now
		}
	}
}

// same says in what two tasks differ.
func same(a, b Task) string {
	if x, y := fmt.Sprintf("%+v %+v", a, a.Lease), fmt.Sprintf("%+v %+v", b, b.Lease); x != y {
		return x + " became " + y
	}
	return ""
}

func TestRememberedIDsAreBounded(t *testing.T) {
	full := in(Working)
	full.Seen = make([]Fingerprint, maxSeen)
	if _, _, err := full.set(Working, nil, "one more", noon); !errors.Is(err, ErrTaskFull) {
		t.Errorf("a state set with one id too many: %v", err)
	}
	if _, _, err := full.set(Completed, nil, "the last", noon); err != nil {
		t.Errorf("an end with one id too many: %v", err)
	}
	if _, _, err := full.set(Working, nil, "", noon); err != nil {
		t.Errorf("a state set without an id: %v", err)
	}
}
