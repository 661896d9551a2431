package system

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"baton/client"
	"baton/internal/localaws"
)

// event is one as the API shows it.
type event struct {
	ID, Type    string
	Sequence    int64
	Version     int
	AggregateID string `json:"aggregate_id"`
	IdentityID  string `json:"identity_id"`
	Payload     struct {
		State   client.State
		Message *string
		Result  *string
	}
}

// A worker waits, and is told within a moment of the send; a requester follows its own events to the end.
func TestEventsTellBothSides(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	type waited struct {
		Event    *event
		TimedOut bool `json:"timed_out"`
		Cursor   string
	}
	wait := func(key, query string) (w waited) {
		a := call(t, key, "GET", "/v1/events/wait"+query, nil)
		if err := json.Unmarshal(a.body, &w); err != nil || a.status != http.StatusOK {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
		return w
	}
	told := make(chan waited)
	go func() { told <- wait(to.Key, "?type=a2a.task.created&timeout_ms=55000") }()
	time.Sleep(500 * time.Millisecond)
	long := "Count these: " + strings.Repeat("日本", 3000)
	sent := newTask(t, from, to, long)
	first := <-told
	if first.Event == nil || first.Event.AggregateID != sent.ID || first.Event.IdentityID != to.ID || *first.Event.Payload.Message != long {
		t.Fatalf("the worker was told %+v", first)
	}
	for _, reply := range []client.Reply{
		{Intent: client.Progress, Draft: client.Draft{Message: "One."}},
		{Intent: client.Complete, Draft: client.Draft{Message: "Two."}},
	} {
		if _, err := to.Client.Reply(t.Context(), sent.ID, reply); err != nil {
			t.Fatal(err)
		}
	}
	// The requester comes late, and asks for what there was since it sent.
	var states []client.State
	query := "?type=a2a.task.updated&aggregate_id=" + sent.ID
	for w := wait(from.Key, query+"&timeout_ms=20000&since="+sent.CreatedAt.UTC().Format(time.RFC3339Nano)); ; {
		if w.Event == nil {
			t.Fatalf("it timed out after %v", states)
		}
		if states = append(states, w.Event.Payload.State); w.Event.Payload.State.Terminal() {
			if *w.Event.Payload.Result != "Two." {
				t.Errorf("the result is %q", *w.Event.Payload.Result)
			}
			break
		}
		w = wait(from.Key, query+"&timeout_ms=20000&cursor="+w.Cursor)
	}
	if !slices.Equal(states, []client.State{client.Working, client.Completed}) {
		t.Errorf("the requester saw %v", states)
	}
	if w := wait(to.Key, "?timeout_ms=0&aggregate_id="+sent.ID+"&since="+sent.CreatedAt.UTC().Format(time.RFC3339Nano)); w.Event == nil || w.Event.Type != "a2a.task.created" {
		t.Errorf("the worker sees %+v", w)
	}
}

// Server-sent events over real connections, each of which ends by itself: the client comes again where it was.
func TestEventsStream(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent := newTask(t, from, to, "Count to five.")
	for i := range 5 {
		if _, err := to.Client.Reply(t.Context(), sent.ID, client.Reply{Intent: client.Progress, Draft: client.Draft{Message: fmt.Sprint(i + 1)}}); err != nil {
			t.Fatal(err)
		}
	}
	var versions []int
	last := ""
	for connection := 0; len(versions) < 5 && connection < 20; connection++ {
		request, err := http.NewRequestWithContext(t.Context(), "GET", localaws.Stack(t).APIURL+"/v1/events/stream?since=2020-01-01T00:00:00Z", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+from.Key)
		if last != "" {
			request.Header.Set("Last-Event-ID", last)
		}
		answer, err := wire.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%s %v", answer.Status, answer.Header)
		}
		taken := 0
		for lines := bufio.NewScanner(answer.Body); lines.Scan() && taken < 2; { // and is cut off after two
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "id":
				last = value
			case "data":
				var e event
				if err := json.Unmarshal([]byte(value), &e); err != nil {
					t.Fatal(err)
				}
				versions = append(versions, e.Version)
				taken++
			}
		}
		answer.Body.Close()
	}
	if !slices.Equal(versions, []int{2, 3, 4, 5, 6}) {
		t.Errorf("saw the versions %v", versions)
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	w := world(t)
	from, to := agent(t, w.Shop, false), agent(t, w.Shop, true)
	newTask(t, from, to, "Once more, please.")
	waited := call(t, to.Key, "GET", "/v1/events/wait?timeout_ms=20000&since=2020-01-01T00:00:00Z", nil)
	var told struct{ Event event }
	if err := json.Unmarshal(waited.body, &told); err != nil || told.Event.Sequence == 0 {
		t.Fatalf("%d %s", waited.status, waited.body)
	}
	span := map[string]int64{"from_sequence": told.Event.Sequence, "to_sequence": told.Event.Sequence}
	path := "/v1/organizations/" + w.Shop.ID + "/replay"
	if a := call(t, w.Shop.Key.Secret, "POST", path, span); a.status != http.StatusOK || !strings.Contains(string(a.body), `"sent":1`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := call(t, w.Bank.Key.Secret, "POST", path, span); a.status != http.StatusNotFound {
		t.Errorf("another organization's admin: %d %s", a.status, a.body)
	}
}
