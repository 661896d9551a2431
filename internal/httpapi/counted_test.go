package httpapi_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/httpapi"
	"baton/internal/localaws"
)

// Sends are counted beside them: the counters are told, and a send waits for none of it before it is made. It does before
// it answers, since a function instance may stand still from then on.
func TestASendIsCountedBesideItself(t *testing.T) {
	w := newWorld(t)
	// Of these limits each portion is one send, so that each send tells all three counters.
	w.handlers["send-task"] = httpapi.SendTask(w.edge, directory.Gate{Service: w.people, Limiter: directory.NewLimiter(
		w.directory, w.storedTasks, directory.Limits{SendsPerMinute: 12, SendsPerSecond: 5, OpenTasksAtMost: 100}, w.clock.Now,
	)}, w.tasks)
	send := func(worker string) reply {
		t.Helper()
		return w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"` + worker + `","message":"x"}`})
	}
	w.object(send("helper")) // the instance knows the key, the agents, and that the open tasks were counted
	w.faults.Reset()

	const slow = 400 * time.Millisecond
	counts := func(body []byte) bool { return bytes.Contains(body, []byte(`"Q#`)) }
	w.faults.On("UpdateItem").Always().When(counts).Delay(slow)
	began := time.Now()
	if a := send("helper"); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	took := time.Since(began)
	calls := w.faults.Calls()
	sent := slices.IndexFunc(calls, func(c localaws.Call) bool { return c.Operation == "TransactWriteItems" })
	told := 0
	for n, c := range calls {
		if c.Operation != "UpdateItem" || !counts(c.Request) {
			continue
		}
		told++
		if n < sent {
			t.Errorf("the send waited for a counter: %s", c.Request)
		}
	}
	if told != 3 {
		t.Errorf("%d counters were told, want the requester's, the worker's and the worker's of open tasks", told)
	}
	// All three at once, and with the send: one after the other they would take thrice as long.
	if took < slow || took > 2*slow {
		t.Errorf("a send took %s beside counters that take %s", took, slow)
	}
	w.faults.Reset()

	// What was counted counts.
	for n := 2; n < 12; n++ {
		if a := send("helper"); a.status != 201 {
			t.Fatalf("send %d: %d %s", n, a.status, a.body)
		}
	}
	other := directory.NewLimiter(w.directory, w.storedTasks, directory.Limits{SendsPerMinute: 12, SendsPerSecond: 5, OpenTasksAtMost: 100}, w.clock.Now)
	if err := other.TakeRequest(t.Context(), w.asker.ID); err != nil { // an instance learns with its first portion
		t.Fatal(err)
	}
	if err := other.TakeRequest(t.Context(), w.asker.ID); err == nil {
		t.Error("another instance knows nothing of 12 sends")
	}
}
