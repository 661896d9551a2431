package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/httpapi"
	"baton/internal/task"
)

// gate lets sends pass, or not.
type gate struct {
	*directory.Service
	shut error
}

func (g *gate) Admit(ctx context.Context, requester, worker directory.Identity) error {
	if g.shut != nil {
		return g.shut
	}
	return g.Service.Admit(ctx, requester, worker)
}

// TestSendsThatAreTooMany has the two limits of sends, with when to come again, and a retry of what had passed before
// (contract section 2, "message_id", and section 5, "Throttles").
func TestSendsThatAreTooMany(t *testing.T) {
	w := newWorld(t)
	g := &gate{Service: w.people}
	w.handlers["send-task"] = httpapi.SendTask(w.edge, g, w.tasks)
	send := func(id string) reply {
		return w.do(request{method: "POST", path: "/v1/agents/helper/tasks", as: "asker", body: fmt.Sprintf(`{"message":"x","message_id":%q}`, id)})
	}
	w.object(send("before"))
	for _, row := range []struct {
		why         error
		status      int
		code, after string
	}{
		{&directory.Limited{RetryAfter: 1200 * time.Millisecond}, 429, "a2a.throttled", "2"},
		{&directory.Limited{RetryAfter: 10 * time.Second, Quota: true}, 429, "a2a.quota_exceeded", "10"},
		{fmt.Errorf("rules: %w", task.ErrUnavailable), 503, "a2a.unavailable", "1"},
		{directory.ErrNotAdmitted, 403, "a2a.not_admitted", ""},
	} {
		g.shut = row.why
		a := send("after")
		if p := w.problem(a); p.Status != row.status || p.Code != row.code || a.header["Retry-After"] != row.after {
			t.Errorf("%v: %d %s, Retry-After %q", row.why, p.Status, p.Code, a.header["Retry-After"])
		}
		if a := send("before"); a.status != 200 {
			t.Errorf("%v: a retry of what was sent: %d %s", row.why, a.status, a.body)
		}
	}
	g.shut = nil
	if a := send("after"); a.status != 201 {
		t.Errorf("a refused send left something: %d %s", a.status, a.body)
	}
}

// losing is a service whose writes lose every race, and which waits without waiting.
type losing struct {
	*task.Service
	waited []time.Duration
	broken error // what waits fail with
}

func (l *losing) AddMessage(context.Context, task.Edit, task.Draft) (task.View, error) {
	return task.View{}, fmt.Errorf("write: %w", task.ErrConflict)
}

func (l *losing) Wait(ctx context.Context, v task.Viewer, id task.ID, most time.Duration) (task.View, error) {
	l.waited = append(l.waited, most)
	if l.broken != nil {
		return task.View{}, l.broken
	}
	return l.Read(ctx, v, id, false)
}

func (l *losing) Claim(_ context.Context, _ task.Viewer, most int, lease, wait time.Duration) ([]task.View, error) {
	l.waited = append(l.waited, time.Duration(most), lease, wait)
	return nil, nil
}

func TestAConflictSaysWhenToComeAgain(t *testing.T) {
	w := newWorld(t)
	w.handlers["add-message"] = httpapi.AddMessage(w.edge, &losing{Service: w.tasks})
	a := w.do(request{method: "POST", path: "/v1/a2a/tasks/" + w.sent() + "/messages", as: "asker", body: `{"message":"x"}`})
	if p := w.problem(a); a.status != 409 || p.Code != "a2a.conflict" || a.header["Retry-After"] != "1" {
		t.Errorf("%d %s %v", a.status, p.Code, a.header)
	}
}

// broken is a service that fails in a way that nobody thought of.
type broken struct {
	*task.Service
	fail func() error
}

func (b *broken) AddMessage(context.Context, task.Edit, task.Draft) (task.View, error) {
	return task.View{}, b.fail()
}

// TestAFaultOfOursTellsItsCauseToTheLogOnly (contract section 6).
func TestAFaultOfOursTellsItsCauseToTheLogOnly(t *testing.T) {
	w := newWorld(t)
	const inside = "arn:aws:dynamodb:tasks"
	id := w.sent()
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New(inside) },
		"a panic":  func() error { panic(inside) },
	} {
		w.handlers["add-message"] = httpapi.AddMessage(w.edge, &broken{w.tasks, fail})
		w.log.take()
		add := request{method: "POST", path: "/v1/a2a/tasks/" + id + "/messages", body: `{"message":"x"}`}
		a := w.invoke("add-message", add.event(w.key["asker"])) // none of the answers that are documented
		if p := w.problem(a); a.status != 500 || p.Code != "a2a.internal" || strings.Contains(a.body, "arn") || strings.Contains(a.body, ".go") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		if log := w.log.take(); !strings.Contains(log, inside) {
			t.Errorf("%s: the log has %s", name, log)
		}
	}
}

// TestWaitsAreHeld25Seconds has the longest waits, which the gateway must not cut off (contract section 2, "Wait").
func TestWaitsAreHeld25Seconds(t *testing.T) {
	w := newWorld(t)
	l := &losing{Service: w.tasks}
	w.handlers["read-task"] = httpapi.ReadTask(w.edge, w.people, l)
	w.handlers["send-task"] = httpapi.SendTask(w.edge, w.people, l)
	w.handlers["claim-task"] = httpapi.ClaimTask(w.edge, l)
	id := w.sent()
	for asked, want := range map[string]string{"0": "[]", "1": "[1s 1s]", "24": "[24s 24s]", "25": "[25s 25s]", "26": "[25s 25s]", "30": "[25s 25s]"} {
		l.waited = nil
		w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id + "?wait=" + asked, as: "asker"}))
		w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks?wait=" + asked, as: "asker", body: `{"target_handle":"helper","message":"x"}`}))
		if got := fmt.Sprint(l.waited); got != want {
			t.Errorf("wait=%s is held for %s, want %s", asked, got, want)
		}
	}
	for range 2 { // a repetition waits, too
		l.waited = nil
		w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks?wait=24", as: "asker", body: `{"target_handle":"helper","message":"x","message_id":"again"}`}))
		if got := fmt.Sprint(l.waited); got != "[24s]" {
			t.Errorf("a send with an id is held for %s", got)
		}
	}
	l.broken = fmt.Errorf("wait: %w", task.ErrUnavailable)
	if a := w.do(request{method: "POST", path: "/v1/a2a/tasks?wait=1", as: "asker", body: `{"target_handle":"helper","message":"x"}`}); a.status != 201 {
		t.Errorf("a send whose wait fails is a send: %d %s", a.status, a.body)
	}
	for body, want := range map[string]string{
		``: "[1ns 5m0s 0s]", `{}`: "[1ns 5m0s 0s]", `{"wait":30}`: "[1ns 5m0s 25s]", `{"wait":0,"max":10,"lease_seconds":30}`: "[10ns 30s 0s]",
		`{"max":1,"lease_seconds":3600,"wait":24}`: "[1ns 1h0m0s 24s]", `{"max":null}`: "[1ns 5m0s 0s]",
	} {
		l.waited = nil
		w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/claim", as: "helper", body: body}))
		if got := fmt.Sprint(l.waited); got != want {
			t.Errorf("claim %s: %s, want %s", body, got, want)
		}
	}
	for body, field := range map[string]string{
		`{"max":0}`: "max", `{"max":11}`: "max", `{"max":-1}`: "max", `{"max":1.5}`: "max", `{"max":"1"}`: "max",
		`{"lease_seconds":29}`: "lease_seconds", `{"lease_seconds":3601}`: "lease_seconds", `{"wait":-1}`: "wait", `{"wait":31}`: "wait",
		`{"wait":true}`: "wait", `{"message_id":"x"}`: "message_id", `[]`: "body",
	} {
		a := w.do(request{method: "POST", path: "/v1/identities/helper/a2a/tasks/claim", as: "helper", body: body})
		if a.status != 400 || w.problem(a).Errors[0].Field != field {
			t.Errorf("claim %s: %d %s", body, a.status, a.body)
		}
	}
}
