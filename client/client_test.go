package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/client"
)

const key = "btk_agent_0123456789abcdef"

// request is what a server saw of one attempt.
type request struct {
	method, uri, body string
	header            http.Header
}

func (r request) messageID(t *testing.T) string {
	t.Helper()
	var b struct {
		MessageID string `json:"message_id"`
	}
	if err := json.Unmarshal([]byte(r.body), &b); err != nil {
		t.Fatal(err)
	}
	return b.MessageID
}

// answer is how a server treats one attempt; nil drops the connection without a word.
type answer func(w http.ResponseWriter)

func drop(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// dropMidway applies the call, begins to answer, and is cut off.
func dropMidway(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, `{"id":"`)
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func ok(body string) answer {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("ETag", `"7"`)
		io.WriteString(w, body)
	}
}

func problem(status int, code, retryAfter string) answer {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/problem+json")
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type":"about:blank","title":"No","status":%d,"detail":"not now","code":%q,"request_id":"r-1","errors":[{"field":"parts[0]","message":"is bad"}]}`, status, code)
	}
}

// serve answers the attempts in order, the last answer for all that follow.
func serve(t *testing.T, answers ...answer) (url string, seen func() []request) {
	t.Helper()
	var mu sync.Mutex
	var requests []request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		requests = append(requests, request{r.Method, r.URL.RequestURI(), string(body), r.Header})
		next := answers[min(len(requests), len(answers))-1]
		mu.Unlock()
		next(w)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []request {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(requests)
	}
}

func TestRepeatsUntilAnswered(t *testing.T) {
	for name, first := range map[string]answer{
		"a dropped connection":     drop,
		"an answer cut off midway": dropMidway,
		"throttled":                problem(429, client.CodeThrottled, ""),
		"a dependency down":        problem(503, "unavailable", ""),
		"too many races":           problem(409, client.CodeConflict, ""),
		"a gateway without answer": func(w http.ResponseWriter) { w.WriteHeader(504) },
	} {
		t.Run(name, func(t *testing.T) {
			url, seen := serve(t, first, first, ok(`{"id":"t1","state":"submitted"}`))
			task, err := client.New(url, key).Send(t.Context(), client.Send{To: "@Worker", Draft: client.Draft{Message: "hi"}})
			if err != nil || task.ID != "t1" || task.ETag != `"7"` {
				t.Fatalf("got %+v, %v", task, err)
			}
			attempts := seen()
			if len(attempts) != 3 {
				t.Fatalf("%d attempts, want 3", len(attempts))
			}
			ids := map[string]bool{}
			for _, a := range attempts {
				ids[a.messageID(t)] = true
			}
			if len(ids) != 1 || ids[""] {
				t.Errorf("message ids of one call: %v", ids)
			}
		})
	}
}

func TestMessageIDIsOnePerCall(t *testing.T) {
	url, seen := serve(t, ok(`{}`))
	c := client.New(url, key)
	for range 2 {
		if _, err := c.Add(t.Context(), "t1", client.Draft{Message: "more"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Add(t.Context(), "t1", client.Draft{Message: "more", MessageID: "mine"}); err != nil {
		t.Fatal(err)
	}
	got := seen()
	if a, b := got[0].messageID(t), got[1].messageID(t); a == b {
		t.Errorf("two calls shared the message id %q", a)
	}
	if id := got[2].messageID(t); id != "mine" {
		t.Errorf("message id %q, want the caller's own", id)
	}
	url, seen = serve(t, drop, ok(`{}`))
	if _, err := client.New(url, key).SetState(t.Context(), "t1", client.SetState{State: client.Working}); err != nil {
		t.Fatal(err)
	}
	if got := seen(); got[0].messageID(t) == "" || got[0].messageID(t) != got[1].messageID(t) {
		t.Errorf("a state is set under %q, then %q", got[0].messageID(t), got[1].messageID(t))
	}
}

func TestRetryAfterIsKept(t *testing.T) {
	url, _ := serve(t, problem(429, client.CodeThrottled, "1"), ok(`{}`))
	start := time.Now()
	if _, err := client.New(url, key).Task(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < time.Second {
		t.Errorf("tried again after %v", took)
	}
}

func TestDoesNotWaitPastTheDeadline(t *testing.T) {
	url, seen := serve(t, problem(429, client.CodeThrottled, "30"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	start := time.Now()
	_, err := client.New(url, key).Task(ctx, "t1")
	var refused *client.Error
	if !errors.As(err, &refused) || refused.RetryAfter != 30*time.Second {
		t.Fatalf("got %v", err)
	}
	if took := time.Since(start); took > 5*time.Second || len(seen()) != 1 {
		t.Errorf("%d attempts in %v", len(seen()), took)
	}
}

// Retry-After may be a date, and one that is over a minute away is for the caller to wait for.
func TestALongRetryAfterIsTheCallers(t *testing.T) {
	for _, row := range []struct {
		header      string
		least, most time.Duration
	}{
		{"61", 61 * time.Second, 61 * time.Second},
		{time.Now().Add(2 * time.Minute).UTC().Format(http.TimeFormat), 90 * time.Second, 2 * time.Minute},
	} {
		url, seen := serve(t, problem(429, client.CodeThrottled, row.header), ok(`{}`))
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
		defer stop()
		_, err := client.New(url, key).Task(ctx, "t1")
		var refused *client.Error
		if !errors.As(err, &refused) || refused.RetryAfter < row.least || refused.RetryAfter > row.most || len(seen()) != 1 {
			t.Errorf("Retry-After: %s: %v after %d attempts", row.header, err, len(seen()))
		}
	}
}

func TestRefusalsAreNotRepeated(t *testing.T) {
	for _, code := range []string{client.CodeTerminal, client.CodeLimitReached, client.CodeLeaseLost} {
		url, seen := serve(t, problem(409, code, ""))
		_, err := client.New(url, key).Reply(t.Context(), "t1", client.Reply{Intent: client.Complete, Draft: client.Draft{Message: "done"}})
		if !client.HasCode(err, code) || !client.HasStatus(err, 409) || len(seen()) != 1 {
			t.Errorf("%s: %v after %d attempts", code, err, len(seen()))
		}
	}
}

func TestErrorHoldsTheProblemDocument(t *testing.T) {
	url, _ := serve(t, problem(400, "invalid", ""))
	_, err := client.New(url, key).Task(t.Context(), "t1")
	var e *client.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	want := client.FieldError{Field: "parts[0]", Message: "is bad"}
	if e.Status != 400 || e.Code != "invalid" || e.RequestID != "r-1" || len(e.Fields) != 1 || e.Fields[0] != want {
		t.Errorf("got %+v", e)
	}
	if text := err.Error(); text != "baton: 400 invalid not now; parts[0]: is bad (request r-1)" {
		t.Error(text)
	}
}

func TestWhatIsNotOursIsStillAnError(t *testing.T) {
	url, _ := serve(t, func(w http.ResponseWriter) { w.WriteHeader(418); io.WriteString(w, "<html>") })
	_, err := client.New(url, key).Task(t.Context(), "t1")
	if !client.HasStatus(err, 418) || !strings.Contains(err.Error(), "teapot") {
		t.Error(err)
	}
}

func TestGivesUp(t *testing.T) {
	url, seen := serve(t, drop)
	_, err := client.New(url, key, client.WithRetries(2)).Task(t.Context(), "t1")
	if err == nil || len(seen()) < 3 {
		t.Errorf("%v after %d attempts", err, len(seen()))
	}
}

func TestAttemptTimeoutCountsAsLostAnswer(t *testing.T) {
	url, seen := serve(t, func(http.ResponseWriter) { time.Sleep(300 * time.Millisecond) }, ok(`{"id":"t1"}`))
	task, err := client.New(url, key, client.WithAttemptTimeout(50*time.Millisecond)).Task(t.Context(), "t1")
	if err != nil || task.ID != "t1" || len(seen()) != 2 {
		t.Errorf("%v, %v after %d attempts", task, err, len(seen()))
	}
}

// A wait may take longer than an attempt else.
func TestAWaitIsNotCutOff(t *testing.T) {
	url, seen := serve(t, func(w http.ResponseWriter) {
		time.Sleep(300 * time.Millisecond)
		ok(`{"event":null,"cursor":"c1"}`)(w)
	})
	_, next, _, err := client.New(url, key, client.WithAttemptTimeout(50*time.Millisecond)).WaitEvent(t.Context(), client.EventFilter{}, time.Second)
	if err != nil || next != "c1" || len(seen()) != 1 {
		t.Errorf("%q, %v after %d attempts", next, err, len(seen()))
	}
}

// The key is for the service only.
func TestFollowsNoRedirect(t *testing.T) {
	elsewhere, seen := serve(t, ok(`{}`))
	url, _ := serve(t, func(w http.ResponseWriter) {
		w.Header().Set("Location", elsewhere)
		w.WriteHeader(307)
	})
	if _, err := client.New(url, key).Task(t.Context(), "t1"); !client.HasStatus(err, 307) || len(seen()) != 0 {
		t.Errorf("%v, and %d calls elsewhere", err, len(seen()))
	}
}

func TestWhatIsMadeIsMadeWithAnIDOfItsOwn(t *testing.T) {
	url, seen := serve(t, problem(503, "unavailable", "1"), dropMidway, ok(`{"id":"k1","secret":"s"}`), ok(`{"id":"k2","secret":"s"}`))
	c := client.New(url, key)
	for range 2 {
		if _, err := c.CreateKey(t.Context(), client.NewKey{Role: "viewer"}); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for _, r := range seen() {
		ids = append(ids, r.header.Get("Idempotency-Key"))
	}
	if len(ids) != 4 || ids[0] == "" || ids[1] != ids[0] || ids[2] != ids[0] || ids[3] == ids[0] || ids[3] == "" {
		t.Errorf("went with %q", ids)
	}
}

func TestRemovalWhoseAnswerWasLost(t *testing.T) {
	url, _ := serve(t, drop, problem(404, "not_found", ""))
	if err := client.New(url, key).RevokeKey(t.Context(), "k1"); err != nil {
		t.Error(err)
	}
	url, _ = serve(t, problem(404, "not_found", ""))
	if err := client.New(url, key).RevokeKey(t.Context(), "k1"); !client.HasStatus(err, 404) {
		t.Error(err)
	}
}

func TestRequestShape(t *testing.T) {
	url, seen := serve(t, ok(`{}`))
	c := client.New(url+"/", key).ActAs("@support")
	id := "5ab1c7e0-0000-4000-8000-000000000001"
	if _, err := c.Send(t.Context(), client.Send{To: id, Draft: client.Draft{
		Parts: []client.Part{{Data: json.RawMessage(`{"z":1.0,"a":12345678901234567890.10,"h":"<\u2028>"}`)}, {Data: json.RawMessage(`null`)}}, MessageID: "m",
	}}, client.WaitFor(20*time.Second), client.IfMatch(`"3"`), client.Minimal()); err != nil {
		t.Fatal(err)
	}
	got := seen()[0]
	if got.method != "POST" || got.uri != "/v1/a2a/tasks?wait=20" {
		t.Errorf("%s %s", got.method, got.uri)
	}
	want := `{"target_identity_id":"` + id + `","parts":[{"data":{"z":1.0,"a":12345678901234567890.10,"h":"<\u2028>"}},{"data":null}],"message_id":"m"}`
	if got.body != want {
		t.Errorf("body %s\nwant %s", got.body, want)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer " + key, "X-Act-As-Identity": "@support", "If-Match": `"3"`,
		"Prefer": "return=minimal", "Content-Type": "application/json",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
		}
	}
	if _, err := c.Task(t.Context(), "../keys?x=1"); err != nil {
		t.Fatal(err)
	}
	if uri := seen()[1].uri; uri != "/v1/a2a/tasks/..%2Fkeys%3Fx=1" {
		t.Errorf("an id left its place in the path: %s", uri)
	}
}

func TestReadsWhatIsThere(t *testing.T) {
	url, _ := serve(t, ok(`{"id":"t","state":"input_required","result":null,"question":"How much?","completed_at":null,
		"caller":{"handle":"a","verified":true,"trust_tier":"verified"},"artifacts":[],
		"messages":[{"id":"m","message_id":null,"role":"caller","metadata":null,"extensions":null,
		"parts":[{"data": {"b":1.50,"a":[1E400]}},{"data":null},{"text":"x"},{"text":"y"}],"created_at":"2026-01-02T03:04:05.678Z"}]}`))
	task, err := client.New(url, key).Task(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	m := task.Messages[0]
	switch {
	case task.State != client.InputRequired, task.Question != "How much?", task.Result != "", !task.CompletedAt.IsZero():
		t.Errorf("task %+v", task)
	case string(m.Parts[0].Data) != `{"b":1.50,"a":[1E400]}`, string(m.Parts[1].Data) != "null":
		t.Errorf("data %s, %s", m.Parts[0].Data, m.Parts[1].Data)
	case m.Metadata != nil, m.Text() != "x\ny", m.CreatedAt.Nanosecond() != 678e6:
		t.Errorf("message %+v", m)
	}
}

func TestWait(t *testing.T) {
	url, seen := serve(t, ok(`{"state":"submitted"}`), ok(`{"state":"working"}`), ok(`{"state":"input_required"}`))
	task, err := client.New(url, key).Wait(t.Context(), "t")
	if err != nil || task.State != client.InputRequired || len(seen()) != 3 {
		t.Errorf("%+v, %v after %d attempts", task, err, len(seen()))
	}
	if uri := seen()[2].uri; uri != "/v1/a2a/tasks/t?wait=25" {
		t.Error(uri)
	}
}

func TestWalksPages(t *testing.T) {
	url, seen := serve(t,
		ok(`{"items":[{"id":"1"},{"id":"2"}],"next_cursor":"c&1"}`),
		ok(`{"items":[],"next_cursor":"c2"}`),
		ok(`{"items":[{"id":"3"}],"next_cursor":null}`))
	var ids []string
	for task, err := range client.New(url, key).Tasks(t.Context(), client.TaskFilter{Direction: client.Outbound, State: client.Working, PageSize: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, task.ID)
	}
	if !slices.Equal(ids, []string{"1", "2", "3"}) {
		t.Errorf("walked %v", ids)
	}
	var uris []string
	for _, r := range seen() {
		uris = append(uris, r.uri)
	}
	const base = "/v1/a2a/tasks/search?"
	want := []string{base + "direction=outbound&limit=2&state=working", base + "cursor=c%261&direction=outbound&limit=2&state=working", base + "cursor=c2&direction=outbound&limit=2&state=working"}
	if !slices.Equal(uris, want) {
		t.Errorf("asked for %v", uris)
	}
}

func TestWalkEndsAtAnError(t *testing.T) {
	url, _ := serve(t, problem(404, "not_found", ""))
	n := 0
	for _, err := range client.New(url, key).Messages(t.Context(), "t") {
		n++
		if !client.HasStatus(err, 404) {
			t.Error(err)
		}
	}
	if n != 1 {
		t.Errorf("%d rounds", n)
	}
}

func TestNeverPrintsTheKey(t *testing.T) {
	c := client.New("http://127.0.0.1:1", key, client.WithRetries(0))
	_, err := c.Task(t.Context(), "t1")
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%+v", *c), fmt.Sprint(err)} {
		if strings.Contains(text, key) {
			t.Errorf("the key is in %s", text)
		}
	}
}
