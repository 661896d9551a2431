package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"baton/internal/task"
)

// Which refusal wins is contract section 1, "Order of answers": 404, 403, replay, 412, 409.
func TestOrderOfAnswers(t *testing.T) {
	b := newBench(t)
	v := b.send(withID(text("please"), "first"))
	if _, err := b.Reply(t.Context(), b.as(b.to, v), task.Complete, task.ID{}, withID(text("done"), "second")); err != nil {
		t.Fatal(err)
	}
	stranger := task.Party{Identity: task.NewID(), Organization: b.to.Organization}
	at := func(e task.Edit, version int) task.Edit {
		e.IfVersions = []int{version}
		return e
	}
	add := func(e task.Edit, id string) error {
		_, err := b.AddMessage(t.Context(), e, withID(text("more"), id))
		return err
	}
	reply := func(e task.Edit, id string) error {
		_, err := b.Reply(t.Context(), e, task.Progress, task.ID{}, withID(text("on it"), id))
		return err
	}
	requester, worker := b.as(b.from.Party, v), b.as(b.to, v)
	for _, row := range []struct {
		what string
		got  error
		want error
	}{
		{"a colleague of the worker learns nothing, whatever else is wrong", reply(at(b.as(stranger, v), 1), "second"), task.ErrNotFound},
		{"nor of a task that isn't there", reply(b.as(b.to, task.View{Task: task.Task{ID: task.NewID()}}), ""), task.ErrNotFound},
		{"the worker may not add, not even again", add(at(worker, 1), "second"), task.ErrRequesterOnly},
		{"the requester may not reply", reply(requester, "first"), task.ErrWorkerOnly},
		{"a replay is answered after the end and with an old version", add(at(requester, 1), "first"), nil},
		{"and so is the worker's", reply(at(worker, 1), "second"), nil},
		{"an old version wins over the end", add(at(requester, 1), "third"), task.ErrPrecondition},
		{"the end is last", add(at(requester, 2), "third"), task.ErrTerminal},
	} {
		if !errors.Is(row.got, row.want) || row.want == nil && row.got != nil {
			t.Errorf("%s: got %v, want %v", row.what, row.got, row.want)
		}
	}
	b.whole(mustLoad(b, v.ID), 2, 2, task.Completed)
}

func TestWait(t *testing.T) {
	b := newBench(t)
	wait := func(v task.View, most time.Duration) (task.View, time.Duration) {
		t.Helper()
		start := time.Now()
		got, err := b.Wait(t.Context(), b.as(b.from.Party, v).Viewer, v.ID, most)
		if err != nil {
			t.Error(err)
		}
		return got, time.Since(start)
	}
	v := b.send(text("please"))
	if got, took := wait(v, 0); got.State != task.Submitted || len(got.History) != 1 || took > time.Second {
		t.Errorf("no wait: %s after %s", got.State, took)
	}
	if got, took := wait(v, 300*time.Millisecond); got.State != task.Submitted || took < 300*time.Millisecond || took > 3*time.Second {
		t.Errorf("a wait in vain: %s after %s", got.State, took)
	}
	time.AfterFunc(200*time.Millisecond, func() {
		if _, err := b.Reply(context.WithoutCancel(t.Context()), b.as(b.to, v), task.AskCaller, task.ID{}, text("what?")); err != nil {
			t.Error(err)
		}
	})
	if got, took := wait(v, 20*time.Second); got.State != task.InputRequired || len(got.History) != 2 || took > 10*time.Second {
		t.Errorf("a question: %s with %d messages after %s", got.State, len(got.History), took)
	}
	if _, took := wait(v, 20*time.Second); took > 5*time.Second {
		t.Errorf("nothing to wait for: %s", took)
	}
	gone, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	w := b.send(text("please"))
	if _, err := b.Wait(gone, b.as(b.from.Party, w).Viewer, w.ID, 20*time.Second); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("the caller is gone: %v", err)
	}
	if _, err := b.Wait(t.Context(), task.Viewer{Identity: task.NewID()}, v.ID, time.Minute); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("a stranger: %v", err)
	}
}

// Reads of one task show every write at once (contract section 3), as only consistent reads do.
func TestReadsOfATaskAreConsistent(t *testing.T) {
	b := newBench(t)
	v := b.send(withID(text("please"), "m0"))
	for i := 1; i < 40; i++ { // so many that not all of their ids are in the head
		if _, err := b.AddMessage(t.Context(), b.as(b.from.Party, v), withID(text(fmt.Sprint("w", i)), fmt.Sprint("m", i))); err != nil {
			t.Fatal(err)
		}
	}
	b.faults.Reset()
	viewer := b.as(b.to, v).Viewer
	for name, read := range map[string]func() error{
		"a task":             func() error { _, err := b.Read(t.Context(), viewer, v.ID, false); return err },
		"its head":           func() error { _, err := b.Read(t.Context(), viewer, v.ID, true); return err },
		"its messages":       func() error { _, _, err := b.Service.History(t.Context(), viewer, v.ID, 0, 10); return err },
		"one of its changes": func() error { _, err := b.tasks.Change(t.Context(), v.ID, 7); return err },
		"its conversation":   func() error { _, _, err := b.ReadContext(t.Context(), viewer, v.Context); return err },
		"a listed task's ledger": func() error {
			views, err := b.tasks.Claimable(t.Context(), b.to.Identity, 1, time.Now())
			if err != nil || len(views) != 1 {
				return fmt.Errorf("%d claimable, %w", len(views), err)
			}
			now := views[0].Task
			now.Version, now.UpdatedAt = now.Version+1, now.UpdatedAt.Add(time.Millisecond)
			_, err = b.tasks.Save(t.Context(), views[0], now, task.Change{
				Task: now.ID, Number: now.Version, Cause: task.CauseSet, State: now.State, At: now.UpdatedAt, Caller: now.Caller, Target: now.Target,
			})
			return err
		},
	} {
		b.faults.Reset()
		if err := read(); err != nil {
			t.Fatal(name, err)
		}
		reads := 0
		for _, call := range b.faults.Calls() {
			type how struct {
				IndexName      string
				ConsistentRead bool
			}
			var request struct {
				how
				RequestItems map[string]how
			}
			if call.Operation == "TransactWriteItems" || json.Unmarshal(call.Request, &request) != nil {
				continue
			}
			asked := []how{request.how}
			if call.Operation == "BatchGetItem" {
				asked = slices.Collect(maps.Values(request.RequestItems))
			}
			for _, asked := range asked {
				if asked.IndexName != "" {
					continue
				}
				if reads++; !asked.ConsistentRead {
					t.Errorf("%s: a %s that may be behind: %s", name, call.Operation, call.Request)
				}
			}
		}
		if reads == 0 {
			t.Errorf("%s: nothing was read", name)
		}
	}
}

// The SDK tries a write again under the same token, so that DynamoDB knows it; another write has another.
func TestRequestTokens(t *testing.T) {
	b := newBench(t)
	b.faults.On("TransactWriteItems").Lose()
	b.send(text("please"))
	b.send(text("please"))
	var tokens []string
	for _, call := range b.faults.Calls() {
		var request struct{ ClientRequestToken string }
		if call.Operation == "TransactWriteItems" && json.Unmarshal(call.Request, &request) == nil {
			tokens = append(tokens, request.ClientRequestToken)
		}
	}
	if len(tokens) != 3 || tokens[0] == "" || tokens[0] != tokens[1] || tokens[1] == tokens[2] {
		t.Errorf("tokens %q", tokens)
	}
}
