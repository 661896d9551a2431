package system

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"baton/client"
)

// conflicting is one of several writes of which only one can stand.
type conflicting struct {
	key, path string
	body      any
	text      string // of the message that it would leave
	state     client.State
	ifMatch   string
}

func (c conflicting) do(t *testing.T, id string) answer {
	var headers []string
	if c.ifMatch != "" {
		headers = []string{"If-Match", c.ifMatch}
	}
	a, err := try(t, c.key, "POST", "/v1/a2a/tasks/"+id+c.path, c.body, headers...)
	if err != nil {
		t.Error(err)
	}
	return a
}

func TestFiftyWritesOfWhichOneMayEndTheTask(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent := newTask(t, from, to, "Who is first?")
	var writes []conflicting
	for i := range 49 {
		intent, state := client.Complete, client.Completed
		if i%2 == 1 {
			intent, state = client.Fail, client.Failed
		}
		text := fmt.Sprint("attempt ", i)
		writes = append(writes, conflicting{key: to.Key, path: "/reply", text: text, state: state,
			body: client.Reply{Intent: intent, Draft: client.Draft{Message: text}}})
	}
	writes = append(writes, conflicting{key: from.Key, path: "/cancel", state: client.Canceled})
	got := at(len(writes), func(i int) answer { return writes[i].do(t, sent.ID) })
	oneWins(t, got, writes, http.StatusConflict, client.CodeTerminal, sent.ID, "Who is first?", func() client.Task { return read(t, from, sent.ID) })
	if n := len(events(t, from.OrganizationID, sent.ID, 1)); n != 1 {
		t.Errorf("%d events for the requester, want the winner's", n)
	}
}

func TestFiftyWritesOnOneVersion(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent := newTask(t, from, to, "One version")
	var writes []conflicting
	for i := range 50 {
		w := conflicting{key: from.Key, path: "/messages", text: fmt.Sprint("message ", i), state: client.Submitted, ifMatch: sent.ETag}
		w.body = client.Draft{Message: w.text}
		if i%2 == 1 {
			w.key, w.path, w.state = to.Key, "/reply", client.Working
			w.body = client.Reply{Intent: client.Progress, Draft: client.Draft{Message: w.text}}
		}
		writes = append(writes, w)
	}
	got := at(len(writes), func(i int) answer { return writes[i].do(t, sent.ID) })
	oneWins(t, got, writes, http.StatusPreconditionFailed, "", sent.ID, "One version", func() client.Task { return read(t, from, sent.ID) })
}

// oneWins sees that one write succeeded, the others were refused as told, and the task is what the winner made of it.
func oneWins(t *testing.T, got []answer, writes []conflicting, status int, code, id, first string, now func() client.Task) {
	t.Helper()
	winner := -1
	for i, a := range got {
		switch {
		case a.status == http.StatusOK && winner < 0:
			winner = i
		case a.status == http.StatusOK:
			t.Errorf("writes %d and %d both succeeded", winner, i)
		case a.status != status || code != "" && a.problem(t).Code != code:
			t.Errorf("a loser got %d: %s", a.status, a.body)
		}
	}
	if winner < 0 {
		t.Fatal("no write succeeded")
	}
	texts, want := []string{}, []string{first}
	if writes[winner].text != "" {
		want = append(want, writes[winner].text)
	}
	after := now()
	for _, m := range after.Messages {
		texts = append(texts, m.Text())
	}
	if !slices.Equal(texts, want) || after.State != writes[winner].state || after.ETag != got[winner].header.Get("ETag") {
		t.Errorf("after write %d won: %s with %q", winner, after.State, texts)
	}
}

// A canceled task never says anything else later, and a loser's message is nowhere.
func TestTwoHundredRacesOfCancelAgainstComplete(t *testing.T) {
	t.Parallel()
	const races, workers = 200, 4
	from, to := pair(t)
	won := map[client.State]int{}
	results := at(workers, func(worker int) map[client.State]int {
		won := map[client.State]int{}
		for range races / workers {
			won[cancelAgainstComplete(t, from.Key, to.Key, to.Handle)]++
		}
		return won
	})
	for _, r := range results {
		for state, n := range r {
			won[state] += n
		}
	}
	t.Logf("ended as %v", won)
	if won[client.Canceled]+won[client.Completed] != races {
		t.Errorf("ended as %v", won)
	}
}

func cancelAgainstComplete(t *testing.T, from, to, handle string) client.State {
	made := call(t, from, "POST", "/v1/a2a/tasks", map[string]any{"target_handle": handle, "message": "Quick!"})
	if made.status != http.StatusCreated {
		t.Errorf("send: %d %s", made.status, made.body)
		return ""
	}
	sent, _ := made.task(t)
	path := "/v1/a2a/tasks/" + sent.ID
	got := at(2, func(i int) answer {
		if i == 0 {
			a, _ := try(t, from, "POST", path+"/cancel", nil)
			return a
		}
		a, _ := try(t, to, "POST", path+"/reply", map[string]any{"intent": "complete", "message": "Done."})
		return a
	})
	cancel, complete := got[0].status, got[1].status
	after, _ := call(t, from, "GET", path, nil).task(t)
	switch {
	case cancel == 200 && complete == 409 && after.State == client.Canceled && len(after.Messages) == 1 && after.Result == "":
	case cancel == 409 && complete == 200 && after.State == client.Completed && len(after.Messages) == 2:
	default:
		t.Errorf("cancel %d, complete %d: %s with %d messages, result %q", cancel, complete, after.State, len(after.Messages), after.Result)
	}
	if late := call(t, to, "POST", path+"/reply", map[string]any{"intent": "progress", "message": "Still here."}); late.status != 409 {
		t.Errorf("a late reply got %d", late.status)
	}
	return after.State
}
