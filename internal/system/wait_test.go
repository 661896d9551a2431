package system

import (
	"net/http"
	"testing"
	"time"

	"baton/client"
)

func TestWait(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent := newTask(t, from, to, "Take your time.")
	timed := func(path string) (client.Task, time.Duration) {
		t.Helper()
		start := time.Now()
		a := call(t, from.Key, "GET", path, nil)
		if a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, a.status, a.body)
		}
		got, _ := a.task(t)
		return got, time.Since(start)
	}
	path := "/v1/a2a/tasks/" + sent.ID
	if got, took := timed(path + "?wait=1"); got.State != client.Submitted || took < time.Second || took > 5*time.Second {
		t.Errorf("nobody answers: %s after %v", got.State, took)
	}
	replied := make(chan error, 1)
	go func() {
		time.Sleep(time.Second)
		_, err := to.Client.Reply(t.Context(), sent.ID, client.Reply{Intent: client.Progress, Draft: client.Draft{Message: "Hm."}})
		if err == nil {
			time.Sleep(time.Second)
			_, err = to.Client.Reply(t.Context(), sent.ID, client.Reply{Intent: client.AskCaller, Draft: client.Draft{Message: "Which?"}})
		}
		replied <- err
	}()
	got, took := timed(path + "?wait=20")
	if got.State != client.InputRequired || got.Question != "Which?" || len(got.Messages) != 3 || took < 2*time.Second || took > 10*time.Second {
		t.Errorf("a question: %s %q after %v", got.State, got.Question, took)
	}
	if err := <-replied; err != nil {
		t.Fatal(err)
	}
	if got, took := timed(path + "?wait=20"); got.State != client.InputRequired || took > 5*time.Second {
		t.Errorf("a task that asks: %s after %v", got.State, took)
	}
	if _, err := from.Client.Cancel(t.Context(), sent.ID); err != nil {
		t.Fatal(err)
	}
	if got, took := timed(path + "?wait=30"); got.State != client.Canceled || took > 5*time.Second {
		t.Errorf("a task that ended: %s after %v", got.State, took)
	}
}

func TestSendAndWait(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	go func() {
		for t.Context().Err() == nil {
			for task, err := range to.Client.Tasks(t.Context(), client.TaskFilter{Direction: client.Inbound, State: client.Submitted}) {
				if err == nil {
					to.Client.Reply(t.Context(), task.ID, client.Reply{Intent: client.Complete, Draft: client.Draft{Message: "At once."}})
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	start := time.Now()
	got, err := from.Client.Send(t.Context(), client.Send{To: to.ID, Draft: client.Draft{Message: "Quick."}}, client.WaitFor(20*time.Second))
	if err != nil || got.State != client.Completed || got.Result != "At once." || len(got.Messages) != 2 || got.ETag != `"2"` {
		t.Errorf("%+v, %v", got, err)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestIfMatch(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent := newTask(t, from, to, "One.")
	ctx := t.Context()
	if sent.ETag != `"1"` {
		t.Errorf("ETag %s", sent.ETag)
	}
	second, err := from.Client.Add(ctx, sent.ID, client.Draft{Message: "Two."}, client.IfMatch(sent.ETag))
	if err != nil || second.ETag == sent.ETag {
		t.Fatalf("%s, %v", second.ETag, err)
	}
	if got := read(t, to, sent.ID); got.ETag != second.ETag {
		t.Errorf("the worker reads %s, the requester %s", got.ETag, second.ETag)
	}
	if _, err := to.Client.Reply(ctx, sent.ID, client.Reply{Intent: client.Complete, Draft: client.Draft{Message: "Done."}}, client.IfMatch(sent.ETag)); !client.HasStatus(err, http.StatusPreconditionFailed) {
		t.Errorf("a reply to what the worker has not read: %v", err)
	}
	if _, err := from.Client.Cancel(ctx, sent.ID, client.IfMatch(sent.ETag)); !client.HasStatus(err, http.StatusPreconditionFailed) {
		t.Errorf("a cancel of an older version: %v", err)
	}
	if _, err := to.Client.Reply(ctx, sent.ID, client.Reply{Intent: client.Complete, Draft: client.Draft{Message: "Done."}}, client.IfMatch(second.ETag)); err != nil {
		t.Error(err)
	}
	if _, err := from.Client.Cancel(ctx, sent.ID, client.IfMatch(second.ETag)); !client.HasStatus(err, http.StatusPreconditionFailed) {
		t.Errorf("412 comes before 409: %v", err)
	}
}

func TestMinimal(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent := newTask(t, from, to, "All of it.")
	got, err := to.Client.Reply(t.Context(), sent.ID, client.Reply{Intent: client.Progress, Draft: client.Draft{Message: "Some."}}, client.Minimal())
	if err != nil || got.State != client.Working || len(got.Messages) != 0 || got.ETag != `"2"` {
		t.Errorf("%+v, %v", got, err)
	}
}
