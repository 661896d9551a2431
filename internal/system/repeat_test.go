package system

import (
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"baton/client"
	"baton/internal/localaws"
)

func TestTwentyParallelSendsOfOneMessageID(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	send := map[string]any{"target_handle": "@" + to.Handle, "message": "Once only.", "message_id": "order-4182"}
	got := at(20, func(int) answer { a, _ := try(t, from.Key, "POST", "/v1/a2a/tasks", send); return a })
	ids := map[string]bool{}
	created := 0
	for _, a := range got {
		if a.status == http.StatusCreated {
			created++
		} else if a.status != http.StatusOK {
			t.Errorf("status %d: %s", a.status, a.body)
			continue
		}
		task, version := a.task(t)
		ids[task.ID] = true
		if version != 1 || len(task.Messages) != 1 {
			t.Errorf("version %d with %d messages", version, len(task.Messages))
		}
	}
	if created != 1 || len(ids) != 1 {
		t.Errorf("%d answers said created, ids %v", created, ids)
	}
	for id := range ids {
		if got := events(t, to.OrganizationID, id, 1); len(got) != 1 {
			t.Errorf("events %v, want one", got)
		}
	}
	list := call(t, from.Key, "GET", "/v1/identities/"+from.Handle+"/a2a/sent/tasks", nil)
	if list.status != 200 || len(jsonList(t, list)) != 1 {
		t.Errorf("sent tasks: %d %s", list.status, list.body)
	}
}

func TestTwentyParallelRepliesOfOneMessageID(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent := newTask(t, from, to, "Say it once.")
	reply := map[string]any{"intent": "complete", "message": "Said.", "message_id": "r-1"}
	for _, a := range at(20, func(int) answer {
		a, _ := try(t, to.Key, "POST", "/v1/a2a/tasks/"+sent.ID+"/reply", reply)
		return a
	}) {
		if a.status != http.StatusOK {
			t.Errorf("status %d: %s", a.status, a.body)
			continue
		}
		if task, version := a.task(t); version != 2 || task.State != client.Completed || len(task.Messages) != 2 {
			t.Errorf("version %d, %s with %d messages", version, task.State, len(task.Messages))
		}
	}
	if got := events(t, from.OrganizationID, sent.ID, 1); !slices.Equal(got, []string{"a2a.sent_task.updated"}) {
		t.Errorf("events %v, want one", got)
	}
}

func TestRepetitionsAfterTheEnd(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent, err := from.Client.Send(t.Context(), client.Send{To: to.Handle, Draft: client.Draft{Message: "Go.", MessageID: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	path := "/v1/a2a/tasks/" + sent.ID
	writes := []struct {
		name, key, path string
		body            map[string]any
	}{
		{"the send", from.Key, "/v1/a2a/tasks", map[string]any{"target_handle": to.Handle, "message": "Go.", "message_id": "s"}},
		{"the send, worded differently", from.Key, "/v1/a2a/tasks", map[string]any{"target_handle": to.Handle, "parts": []any{map[string]any{"data": 1}}, "message_id": "s"}},
		{"the question", to.Key, path + "/reply", map[string]any{"intent": "ask_caller", "message": "Where?", "message_id": "q"}},
		{"its answer", from.Key, path + "/messages", map[string]any{"message": "There.", "message_id": "a"}},
		{"the completion", to.Key, path + "/reply", map[string]any{"intent": "complete", "message": "Done.", "message_id": "c"}},
		{"an addition with the send's id", from.Key, path + "/messages", map[string]any{"message": "What?", "message_id": "s"}},
	}
	for range 2 {
		for _, w := range writes {
			if a := call(t, w.key, "POST", w.path, w.body, "Idempotency-Key", w.body["message_id"].(string)); a.status != http.StatusOK {
				t.Errorf("%s: %d %s", w.name, a.status, a.body)
			}
		}
	}
	stale := call(t, to.Key, "POST", path+"/reply", writes[4].body, "If-Match", `"1"`)
	if stale.status != http.StatusOK {
		t.Errorf("a repetition with an If-Match that no longer fits: %d %s", stale.status, stale.body)
	}
	if differ := call(t, to.Key, "POST", path+"/reply", writes[4].body, "Idempotency-Key", "other"); differ.status != http.StatusBadRequest {
		t.Errorf("an Idempotency-Key unlike the message_id: %d", differ.status)
	}
	after := read(t, from, sent.ID)
	if after.ETag != `"4"` || after.State != client.Completed || len(history(t, from, sent.ID)) != 4 {
		t.Errorf("after all repetitions: %s, version %s, %d messages", after.State, after.ETag, len(after.Messages))
	}
	if fresh := call(t, to.Key, "POST", path+"/reply", map[string]any{"intent": "progress", "message": "More.", "message_id": "new"}); fresh.status != http.StatusConflict {
		t.Errorf("something new after the end: %d", fresh.status)
	}
}

// lossy lets every second request be done, and loses its answer.
type lossy struct{ n atomic.Int64 }

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := wire.Transport.RoundTrip(r)
	if err == nil && l.n.Add(1)%2 == 1 {
		res.Body.Close()
		return nil, errors.New("the line went dead")
	}
	return res, err
}

func TestAClientOnALossyLineMakesNothingTwice(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	lossyWire := client.WithHTTPClient(&http.Client{Transport: &lossy{}})
	url := localaws.Stack(t).APIURL
	requester, worker := client.New(url, from.Key, lossyWire), client.New(url, to.Key, lossyWire)
	ctx := t.Context()
	must := func(task client.Task, err error) client.Task {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
	sent := must(requester.Send(ctx, client.Send{To: to.Handle, Draft: client.Draft{Message: "One."}}))
	must(worker.Reply(ctx, sent.ID, client.Reply{Intent: client.AskCaller, Draft: client.Draft{Message: "Two?"}}))
	must(requester.Add(ctx, sent.ID, client.Draft{Message: "Three."}))
	must(worker.SetState(ctx, sent.ID, client.SetState{State: client.Working, Result: "Four."}))
	done := must(worker.Reply(ctx, sent.ID, client.Reply{Intent: client.Complete, Draft: client.Draft{Message: "Five."}}))
	if done.ETag != `"5"` {
		t.Errorf("version %s after five writes", done.ETag)
	}
	var texts []string
	for m, err := range requester.Messages(ctx, sent.ID) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, m.Text())
	}
	if !slices.Equal(texts, []string{"One.", "Two?", "Three.", "Four.", "Five."}) {
		t.Errorf("the history is %q", texts)
	}
	second := must(requester.Send(ctx, client.Send{To: to.Handle, Draft: client.Draft{Message: "Never mind."}}))
	if gone := must(requester.Cancel(ctx, second.ID)); gone.State != client.Canceled || gone.ETag != `"2"` {
		t.Errorf("canceled: %s, version %s", gone.State, gone.ETag)
	}
	if got := events(t, to.OrganizationID, sent.ID, 2); !slices.Equal(got, []string{"a2a.task.created", "a2a.task.message"}) {
		t.Errorf("events for the worker: %v", got)
	}
}
