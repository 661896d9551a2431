package httpapi_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"baton/internal/cursor"
	"baton/internal/directory"
	"baton/internal/httpapi"
	"baton/internal/localaws"
	"baton/internal/store"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// eventsWorld is a world in which logs are read too.
type eventsWorld struct {
	*world
	logs     *store.Log
	changes  *changes
	stream   httpapi.StreamHandler // as on AWS
	replayed [2]int64
}

func newEventsWorld(t testing.TB) *eventsWorld {
	t.Helper()
	w := &eventsWorld{world: newWorld(t), changes: &changes{}}
	config, _ := localaws.Config(t)
	w.logs = store.NewLog(dynamodb.NewFromConfig(config), localaws.NewTable(t, "EventsTable"), w.changes, w.clock.Now)
	options := httpapi.Options{Directory: w.people, Cursors: cursor.New("secret", w.clock.Now), Log: w.log, Now: w.clock.Now}
	w.stream = httpapi.StreamEvents(httpapi.NewEdge(options), task.NewEvents(w.logs, w.clock.Now))
	options.Buffered = true
	edge, reader := httpapi.NewEdge(options), task.NewEvents(w.logs, w.clock.Now)
	w.handlers["list-events"] = httpapi.ListEvents(edge, reader)
	w.handlers["wait-events"] = inOnePiece(httpapi.WaitEvents(edge, reader))
	w.handlers["stream-events"] = inOnePiece(httpapi.StreamEvents(edge, reader))
	w.handlers["replay-events"] = httpapi.ReplayEvents(edge, w.people, w)
	return w
}

func inOnePiece(h httpapi.StreamHandler) httpapi.Handler {
	return func(ctx context.Context, r events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		a, err := h(ctx, r)
		return a.(events.APIGatewayProxyResponse), err
	}
}

// changes all have the same text, where the log doesn't hold the whole of it.
type changes struct{ text string }

func (c *changes) Change(context.Context, task.ID, int) (task.Change, error) {
	if c.text == "" {
		return task.Change{}, task.ErrNotFound
	}
	return task.Change{Message: &task.Message{Parts: []task.Part{{Text: &c.text}}}}, nil
}

func (w *eventsWorld) Replay(_ context.Context, _ task.ID, from, to int64) (int, int64, error) {
	w.replayed = [2]int64{from, to}
	if to > 1000 {
		return 0, from, directory.ErrNoBus
	}
	return int(to - from + 1), to + 1, nil
}

// happen logs n updates of one task for asker, and one creation for helper.
func (w *eventsWorld) happen(n int) task.ID {
	w.Helper()
	party := func(i directory.Identity) task.Party {
		return task.Party{Identity: i.ID, Organization: i.Organization.ID, Handle: i.Handle}
	}
	c := task.Change{
		Task: task.NewID(), Context: task.NewID(), State: task.Working, At: w.clock.Now().UTC().Truncate(time.Millisecond),
		Result: task.Clip{None: true}, Caller: task.Caller{Party: party(w.asker)}, Target: party(w.helper),
	}
	var all []task.Event
	for range n + 1 {
		c.Number++
		c.Cause = task.CauseSent
		if c.Number > 1 {
			c.Cause = task.CauseReply
		}
		text := cmp.Or(w.changes.text, fmt.Sprint("text ", c.Number))
		c.Message = &task.Message{ID: task.NewID(), Parts: []task.Part{{Text: &text}}}
		all = append(all, c.Events()...)
	}
	for some := range slices.Chunk(all, store.MaxAppend) {
		head, err := w.logs.Head(w.Context(), w.asker.Organization.ID)
		w.must(err)
		_, _, err = w.logs.Append(w.Context(), head, some)
		w.must(err)
	}
	return c.Task
}

// page is an answer of list-events.
type page struct {
	Items []struct {
		ID, Type    string
		Sequence    int64
		IdentityID  string `json:"identity_id"`
		AggregateID string `json:"aggregate_id"`
	}
	Cursor string
}

func (w *eventsWorld) list(as, query string) (p page) {
	w.Helper()
	r := w.do(request{method: "GET", path: "/v1/events" + query, as: as})
	if r.status != 200 {
		w.Fatalf("%s: %d %s", query, r.status, r.body)
	}
	w.must(json.Unmarshal([]byte(r.body), &p))
	return p
}

func TestEventsAreFollowed(t *testing.T) {
	w := newEventsWorld(t)
	w.happen(6)
	var seen []int64
	p := w.list("admin", "?limit=3")
	for len(p.Items) > 0 {
		for _, e := range p.Items {
			seen = append(seen, e.Sequence)
		}
		p = w.list("admin", "?limit=3&cursor="+p.Cursor)
	}
	w.happen(1)
	for _, e := range w.list("admin", "?cursor="+p.Cursor).Items {
		seen = append(seen, e.Sequence)
	}
	if !slices.Equal(seen, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("saw %v", seen)
	}
}

func TestWhoSeesWhichEvents(t *testing.T) {
	w := newEventsWorld(t)
	id := w.happen(3)
	w.happen(2)
	for name, c := range map[string]struct {
		as, query string
		want      int
	}{
		"an organization sees all":         {"viewer", "", 7},
		"an agent sees its own":            {"helper", "", 2},
		"and the other one too":            {"asker", "", 5},
		"a foreign organization sees none": {"foreign admin", "", 0},
		"one agent's, by its handle":       {"member", "?identity_id=@Helper", 2},
		"its own, by its id":               {"helper", "?identity_id=" + w.helper.ID.String(), 2},
		"one task's":                       {"viewer", "?aggregate_id=" + id.String(), 4},
		"one type":                         {"viewer", "?type=a2a.task.created", 2},
		"the older name":                   {"viewer", "?type=a2a.task.updated", 5},
		"since before":                     {"viewer", "?since=2020-01-01T00:00:00Z", 7},
		"since later":                      {"viewer", "?since=2100-01-01T00:00:00Z", 0},
	} {
		p := w.list(c.as, c.query)
		if len(p.Items) != c.want || p.Cursor == "" {
			t.Errorf("%s: %d, want %d", name, len(p.Items), c.want)
		}
		for _, e := range p.Items {
			if strings.Contains(c.query, "task.updated") && e.Type != "a2a.task.updated" {
				t.Errorf("%s: shown as %s", name, e.Type)
			}
		}
	}
}

// TestEventsSinceATime has the very millisecond of an event: since is inclusive (contract section 4).
func TestEventsSinceATime(t *testing.T) {
	w := newEventsWorld(t)
	w.happen(1)
	var first struct {
		Items []struct {
			At time.Time `json:"occurred_at"`
		}
	}
	w.must(json.Unmarshal([]byte(w.do(request{method: "GET", path: "/v1/events?limit=1", as: "admin"}).body), &first))
	for after, want := range map[time.Duration]int{-time.Millisecond: 2, 0: 2, time.Millisecond: 0} {
		at := url.QueryEscape(first.Items[0].At.Add(after).Format(time.RFC3339Nano))
		if got := w.list("admin", "?since="+at).Items; len(got) != want {
			t.Errorf("%s after the event: %d, want %d", after, len(got), want)
		}
	}
}

// TestACursorKeepsItsSince has events that come late: what happened before since is left out, whenever it was logged.
func TestACursorKeepsItsSince(t *testing.T) {
	w := newEventsWorld(t)
	p := w.list("admin", "?since="+w.clock.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	w.clock.Forward(-time.Minute)
	w.happen(1)
	w.clock.Forward(time.Minute)
	late := w.list("admin", "?cursor="+p.Cursor)
	w.happen(1)
	if now := w.list("admin", "?cursor="+late.Cursor).Items; len(late.Items) != 0 || len(now) != 2 {
		t.Errorf("%d late ones, then %d", len(late.Items), len(now))
	}
}

func TestEventsRefused(t *testing.T) {
	w := newEventsWorld(t)
	w.happen(3)
	cursor := w.list("admin", "").Cursor
	for name, c := range map[string]struct{ as, query, want string }{
		"no key":                     {"", "", "401"},
		"the operator":               {"operator", "", "403"},
		"another agent of its own":   {"helper", "?identity_id=asker", "403"},
		"a foreign agent":            {"helper", "?identity_id=stranger", "404"},
		"no agent":                   {"admin", "?identity_id=nosuchagent", "404"},
		"a malformed agent":          {"admin", "?identity_id=-", "400 identity_id"},
		"a malformed task":           {"admin", "?aggregate_id=7", "400 aggregate_id"},
		"an unknown type":            {"admin", "?type=x", "400 type"},
		"a malformed time":           {"admin", "?since=yesterday", "400 since"},
		"an unknown parameter":       {"admin", "?q=x", "400 q"},
		"a made-up cursor":           {"admin", "?cursor=abc", "400 cursor"},
		"an empty cursor":            {"admin", "?cursor=", "400 cursor"},
		"another caller's cursor":    {"helper", "?cursor=" + cursor, "400 cursor"},
		"a foreign caller's cursor":  {"foreign admin", "?cursor=" + cursor, "400 cursor"},
		"a cursor of another filter": {"admin", "?type=a2a.task.created&cursor=" + cursor, "400 cursor"},
	} {
		for _, path := range []string{"/v1/events", "/v1/events/wait", "/v1/events/stream"} {
			r := w.do(request{method: "GET", path: path + c.query, as: c.as})
			got := fmt.Sprint(r.status)
			if p := w.problem(r); r.status == 400 {
				got += " " + p.Errors[0].Field
			}
			if got != c.want {
				t.Errorf("%s at %s: %s, want %s", name, path, got, c.want)
			}
		}
	}
	w.clock.Forward(task.EventsKept + time.Hour)
	for _, path := range []string{"/v1/events", "/v1/events/wait", "/v1/events/stream"} {
		r := w.do(request{method: "GET", path: path + "?cursor=" + cursor, as: "admin"})
		if r.status != 410 || w.problem(r).Code != "a2a.cursor_gone" {
			t.Errorf("an old cursor at %s: %d %s", path, r.status, r.body)
		}
	}
}

func TestWaitEvents(t *testing.T) {
	w := newEventsWorld(t)
	w.happen(1)
	wait := func(query string) (event map[string]any, timedOut bool, cursor string) {
		t.Helper()
		o := w.object(w.do(request{method: "GET", path: "/v1/events/wait" + query, as: "asker"}))
		event, _ = o["event"].(map[string]any)
		return event, o["timed_out"].(bool), o["cursor"].(string)
	}
	if e, timedOut, _ := wait("?timeout_ms=0"); e != nil || !timedOut {
		t.Errorf("without a position it began before the call: %v", e)
	}
	e, timedOut, cursor := wait("?timeout_ms=0&since=2020-01-01T00:00:00Z")
	if e == nil || timedOut || e["sequence"] != 2.0 {
		t.Errorf("since the beginning: %v", e)
	}
	time.AfterFunc(200*time.Millisecond, func() { w.happen(1) })
	e, timedOut, _ = wait("?timeout_ms=10000&cursor=" + cursor)
	if e == nil || timedOut || e["sequence"] != 4.0 || e["type"] != "a2a.sent_task.updated" {
		t.Errorf("behind the cursor: %v", e)
	}
	for _, query := range []string{"?timeout_ms=-1", "?timeout_ms=55001", "?timeout_ms=x"} {
		if r := w.do(request{method: "GET", path: "/v1/events/wait" + query, as: "asker"}); r.status != 400 {
			t.Errorf("%s: %d", query, r.status)
		}
	}
}

// sse is one connection to stream-events as a browser has it.
type sse struct {
	*bufio.Scanner
	last string // Last-Event-ID
}

// next is the sequence of the next event, 0 at the end of the connection.
func (s *sse) next(t *testing.T) int64 {
	t.Helper()
	var data, id string
	for s.Scan() {
		field, value, _ := strings.Cut(s.Text(), ": ")
		switch {
		case field == "id":
			id = value
		case field == "data":
			data = value
		case s.Text() == "":
			if id != "" {
				s.last, id = id, ""
			}
			if data != "" {
				var e struct{ Sequence int64 }
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					t.Fatal(err)
				}
				return e.Sequence
			}
		}
	}
	return 0
}

func (w *eventsWorld) connect(ctx context.Context, query, last string) (*sse, io.Closer) {
	w.Helper()
	r := request{method: "GET", path: "/v1/events/stream" + query, as: "asker"}
	if last != "" {
		r.header = map[string]string{"Last-Event-ID": last}
	}
	a, err := w.stream(ctx, r.event(w.key["asker"]))
	w.must(err)
	response := a.(*events.APIGatewayProxyStreamingResponse)
	if response.StatusCode != 200 || response.Headers["Content-Type"] != "text/event-stream" {
		body, _ := io.ReadAll(response.Body)
		w.Fatalf("%d %v %s", response.StatusCode, response.Headers, body)
	}
	return &sse{Scanner: bufio.NewScanner(response.Body), last: last}, response.Body.(io.Closer)
}

func TestStreamCutOffAtEveryPointIsResumed(t *testing.T) {
	w := newEventsWorld(t)
	w.happen(8)
	for cut := range 8 {
		var seen []int64
		first, close := w.connect(t.Context(), "?since=2020-01-01T00:00:00Z", "")
		for range cut {
			seen = append(seen, first.next(t))
		}
		close.Close()
		query := "?since=2020-01-01T00:00:00Z" // a browser asks for the same address again
		second, close := w.connect(t.Context(), query, first.last)
		for range 8 - cut {
			seen = append(seen, second.next(t))
		}
		close.Close()
		if !slices.Equal(seen, []int64{2, 3, 4, 5, 6, 7, 8, 9}) {
			t.Errorf("cut off after %d: saw %v", cut, seen)
		}
	}
}

// Without since, cursor and Last-Event-ID a connection begins where the log ends: whoever loses it before anything happened
// knows that place, too.
func TestStreamCutOffBeforeItsFirstEventIsResumed(t *testing.T) {
	w := newEventsWorld(t)
	w.happen(1)
	first, close := w.connect(t.Context(), "", "")
	for first.Scan() && first.Text() != "" {
		if id, ok := strings.CutPrefix(first.Text(), "id: "); ok {
			first.last = id
		}
	}
	close.Close()
	w.happen(1)
	if first.last == "" {
		t.Fatal("it begins without an id: what happens until the next connection is missed")
	}
	second, close := w.connect(t.Context(), "", first.last)
	defer close.Close()
	if got := second.next(t); got != 4 {
		t.Errorf("heard %d, want 4: what happened between the connections", got)
	}
}

func TestStreamArrivesAsItHappensAndEndsInTime(t *testing.T) {
	w := newEventsWorld(t)
	w.happen(1)
	ctx, cancel := context.WithTimeout(t.Context(), 23*time.Second) // the function's end; the stream's is 20 s before
	defer cancel()
	s, _ := w.connect(ctx, "", "")
	began := time.Now()
	time.AfterFunc(300*time.Millisecond, func() { w.happen(1) })
	if got := s.next(t); got != 4 {
		t.Errorf("heard %d, want 4: what was there before is not told", got)
	}
	if took := time.Since(began); took > 2500*time.Millisecond {
		t.Errorf("it took %v", took)
	}
	var rest strings.Builder
	for s.Scan() {
		rest.WriteString(s.Text() + "\n")
	}
	if took := time.Since(began); s.Err() != nil || took > 10*time.Second || !strings.Contains(rest.String(), "retry: 1000\n") {
		t.Errorf("it ended after %v with %v: %s", took, s.Err(), rest.String())
	}
	if line := w.log.take(); !strings.Contains(line, `"/v1/events/stream"`) {
		t.Errorf("no line in the log: %s", line)
	}
}

func TestStreamInOnePiece(t *testing.T) {
	w := newEventsWorld(t)
	w.happen(3)
	r := w.do(request{method: "GET", path: "/v1/events/stream?since=2020-01-01T00:00:00Z", as: "asker"})
	if r.status != 200 || r.header["Content-Type"] != "text/event-stream" || strings.Count(r.body, "\ndata: ") != 3 {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
}

func TestStreamRefusesAForeignLastEventID(t *testing.T) {
	w := newEventsWorld(t)
	r := w.do(request{method: "GET", path: "/v1/events/stream", as: "asker", header: map[string]string{"Last-Event-ID": "abc"}})
	if p := w.problem(r); r.status != 400 || p.Errors[0].Field != "Last-Event-ID" {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestReplayEvents(t *testing.T) {
	w := newEventsWorld(t)
	own, foreign := w.asker.Organization.ID.String(), w.stranger.Organization.ID.String()
	for name, c := range map[string]struct{ as, organization, body, want string }{
		"an admin":              {"admin", own, `{"from_sequence":2,"to_sequence":5}`, "200"},
		"the operator":          {"operator", own, `{"from_sequence":2,"to_sequence":5}`, "200"},
		"a member":              {"member", own, `{"from_sequence":2,"to_sequence":5}`, "403"},
		"an agent":              {"asker", own, `{"from_sequence":2,"to_sequence":5}`, "403"},
		"of another":            {"admin", foreign, `{"from_sequence":2,"to_sequence":5}`, "404"},
		"of none":               {"operator", task.NewID().String(), `{"from_sequence":2,"to_sequence":5}`, "404"},
		"backwards":             {"admin", own, `{"from_sequence":5,"to_sequence":2}`, "400 to_sequence"},
		"from nothing":          {"admin", own, `{"from_sequence":0,"to_sequence":2}`, "400 from_sequence"},
		"without an end":        {"admin", own, `{"from_sequence":1}`, "400 to_sequence"},
		"something else":        {"admin", own, `{"from":1}`, "400 from"},
		"half a number":         {"admin", own, `{"from_sequence":1.5,"to_sequence":2}`, "400 from_sequence"},
		"to the end of numbers": {"operator", own, `{"from_sequence":1,"to_sequence":9223372036854775807}`, "409"},
		"behind all numbers":    {"operator", own, `{"from_sequence":1,"to_sequence":9223372036854775808}`, "400 to_sequence"},
		"while there is no bus": {"admin", own, `{"from_sequence":1,"to_sequence":5000}`, "409"},
	} {
		r := w.do(request{method: "POST", path: "/v1/organizations/" + url.PathEscape(c.organization) + "/replay", as: c.as, body: c.body})
		got := fmt.Sprint(r.status)
		if r.status == 400 {
			got += " " + w.problem(r).Errors[0].Field
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s: %s", name, got, c.want, r.body)
		}
		if r.status == 200 && (r.body != `{"from_sequence":2,"to_sequence":5,"sent":4,"next_sequence":null}` || w.replayed != [2]int64{2, 5}) {
			t.Errorf("%s: %s", name, r.body)
		}
	}
}
