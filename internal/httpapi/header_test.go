package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestIfMatch(t *testing.T) {
	w := newWorld(t)
	for _, row := range []struct {
		header string
		want   string
	}{
		{`"2"`, "ok"}, {`*`, "ok"}, {`"1", "2"`, "ok"}, {` "7" ,"2" `, "ok"}, {`"x", "2"`, "ok"},
		{`"1"`, "precondition_failed"}, {`"3"`, "precondition_failed"}, {`W/"2"`, "precondition_failed"},
		{`"02"`, "precondition_failed"}, {`"abc"`, "precondition_failed"}, {`""`, "precondition_failed"},
		{`2`, "invalid_request"}, {``, "invalid_request"}, {`"2`, "invalid_request"}, {`"2" "3"`, "invalid_request"}, {`*, "2"`, "invalid_request"},
	} {
		id := w.sent()
		second := w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/messages", as: "asker", body: `{"message":"x"}`})
		if second.header["ETag"] != `"2"` {
			t.Fatalf("ETag %s", second.header["ETag"])
		}
		for _, r := range []request{
			{method: "POST", path: "/v1/a2a/tasks/" + id + "/messages", as: "asker", body: `{"message":"x"}`},
			{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", body: `{"intent":"progress","message":"x"}`},
			{method: "PATCH", path: "/v1/a2a/tasks/" + id, as: "helper", body: `{"state":"working"}`},
			{method: "POST", path: "/v1/a2a/tasks/" + id + "/cancel", as: "asker"},
		} {
			r.header = map[string]string{"If-Match": row.header}
			a := w.do(r)
			if got := w.outcome(a); got != row.want {
				t.Errorf("If-Match: %s: %s %s: %s, want %s", row.header, r.method, r.path, got, row.want)
			}
			if row.want == "ok" {
				if row.header != "*" {
					break // the version moved on
				}
				if a.header["ETag"] != w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "asker"}).header["ETag"] {
					t.Errorf("a write's ETag is not the read's")
				}
			}
		}
	}
}

func TestIfNoneMatch(t *testing.T) {
	w := newWorld(t)
	id := w.sent()
	w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/messages", as: "asker", body: `{"message":"x"}`}))
	for header, want := range map[string]int{
		`"2"`: 304, `*`: 304, `W/"2"`: 304, `"1", "2"`: 304, ` "x" ,W/"2"`: 304,
		`"1"`: 200, `"3"`: 200, `W/"1"`: 200, `"02"`: 200, `""`: 200, `"0"`: 200,
		`2`: 400, ``: 400, `"2`: 400, `*, "2"`: 400, `w/"2"`: 400,
	} {
		for _, path := range []string{"/v1/a2a/tasks/" + id, "/v1/identities/asker/a2a/sent/tasks/" + id, "/v1/agents/helper/tasks/" + id} {
			a := w.do(request{method: "GET", path: path, as: "asker", header: map[string]string{"If-None-Match": header}})
			if a.status != want || want != 400 && a.header["ETag"] != `"2"` || (len(a.body) == 0) != (want == 304) {
				t.Errorf("If-None-Match: %s: %s: %d with ETag %s and a body of %d bytes, want %d", header, path, a.status, a.header["ETag"], len(a.body), want)
			}
		}
		if a := w.do(request{method: "GET", path: "/v1/a2a/tasks/" + nowhere, as: "asker", header: map[string]string{"If-None-Match": header}}); want != 400 && a.status != 404 {
			t.Errorf("If-None-Match: %s: of no task: %d, want 404", header, a.status)
		}
	}
}

func TestMessageIDs(t *testing.T) {
	w := newWorld(t)
	key := func(id string) map[string]string { return map[string]string{"Idempotency-Key": id} }
	send := func(body string, header map[string]string) reply {
		return w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper",` + body + `}`, header: header})
	}
	first := send(`"message":"x","message_id":"a"`, nil)
	id := w.object(first)["id"].(string)
	for _, row := range []struct {
		name string
		reply
		want string
	}{
		{"the same", send(`"message":"x","message_id":"a"`, nil), "200 same"},
		{"another wording", send(`"parts":[{"data":1}],"message_id":"a","context_id":"`+nowhere+`"`, nil), "200 same"},
		{"by the header", send(`"message":"x"`, key("a")), "200 same"},
		{"by both", send(`"message":"x","message_id":"a"`, key("a")), "200 same"},
		{"by both, unlike", send(`"message":"x","message_id":"a"`, key("b")), "400"},
		{"by an empty header", send(`"message":"x"`, key("")), "400"},
		{"by a long header", send(`"message":"x"`, key(strings.Repeat("x", 257))), "400"},
		{"malformed otherwise", send(`"message":1,"message_id":"a"`, nil), "400"},
		{"another id", send(`"message":"x","message_id":"b"`, nil), "201"},
		{"another case", send(`"message":"x","message_id":"A"`, nil), "201"},
		{"none", send(`"message":"x"`, nil), "201"},
	} {
		got := fmt.Sprint(row.status)
		if row.status == 200 && w.object(row.reply)["id"] == id {
			got += " same"
		}
		if got != row.want {
			t.Errorf("%s: %s, want %s: %s", row.name, got, row.want, row.body)
		}
	}
	versionAfter := func(r request, want string) {
		t.Helper()
		if got := w.do(r).header["ETag"]; got != want {
			t.Errorf("%s %s %s: version %s, want %s", r.method, r.path, r.body, got, want)
		}
	}
	path := "/v1/a2a/tasks/" + id
	versionAfter(request{method: "POST", path: path + "/messages", as: "asker", body: `{"message":"y","message_id":"a"}`}, `"1"`) // the send's
	versionAfter(request{method: "POST", path: path + "/messages", as: "asker", body: `{"message":"y"}`, header: key("c")}, `"2"`)
	versionAfter(request{method: "POST", path: path + "/messages", as: "asker", body: `{"message":"z","message_id":"c"}`}, `"2"`)
	versionAfter(request{method: "POST", path: path + "/reply", as: "helper", body: `{"intent":"progress","message":"y","message_id":"c"}`}, `"3"`) // another author's
	versionAfter(request{method: "PATCH", path: path, as: "helper", body: `{"state":"failed","message_id":"c"}`}, `"3"`)
	versionAfter(request{method: "PATCH", path: path, as: "helper", body: `{"state":"working"}`, header: key("d")}, `"4"`)
	versionAfter(request{method: "POST", path: path + "/cancel", as: "asker", header: key("e")}, `"5"`)
	versionAfter(request{method: "POST", path: path + "/cancel", as: "asker", body: `{"message_id":"f"}`}, `"5"`)
	versionAfter(request{method: "POST", path: path + "/reply", as: "helper", body: `{"intent":"complete","message":"y","message_id":"d"}`}, `"5"`)
	versionAfter(request{method: "POST", path: path + "/messages", as: "asker", body: `{"message":"z","message_id":"e"}`}, `"5"`)
	if got := w.outcome(w.do(request{method: "POST", path: path + "/cancel", as: "asker", body: `{"message_id":"e"}`, header: key("g")})); got != "invalid_request" {
		t.Errorf("a cancel with two ids: %s", got)
	}
}

func TestPrefer(t *testing.T) {
	w := newWorld(t)
	for header, minimal := range map[string]bool{
		"return=minimal": true, `return="minimal"`: true, "respond-async, return=minimal": true, "Return = minimal": true,
		"return=minimal; foo=1": true, "return=representation": false, "minimal": false, "return=representation, return=minimal": false,
	} {
		a := w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","message":"x"}`, header: map[string]string{"Prefer": header}})
		task := w.object(a)
		if _, has := task["messages"]; has == minimal || (a.header["Preference-Applied"] != "") != minimal {
			t.Errorf("Prefer: %s: messages there: %v, applied %q", header, has, a.header["Preference-Applied"])
		}
		read := w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + task["id"].(string), as: "asker", header: map[string]string{"Prefer": header}}))
		if _, has := read["messages"]; !has {
			t.Errorf("Prefer: %s: a read has no messages", header)
		}
	}
}

// TestMinimalAnswersHaveAllButMessages looks at the other fields of a task where messages are left out.
func TestMinimalAnswersHaveAllButMessages(t *testing.T) {
	w := newWorld(t)
	minimal := map[string]string{"Prefer": "return=minimal"}
	check := func(a reply, whole map[string]any) {
		t.Helper()
		got := w.object(a)
		for field, value := range whole {
			_, there := got[field]
			if there == (field == "messages") || there && field != "history_truncated" && fmt.Sprint(got[field]) != fmt.Sprint(value) {
				t.Errorf("%s is %v, want %v", field, got[field], value)
			}
		}
	}
	claimed := w.sent()
	items := w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/claim", as: "helper", header: minimal}))["items"].([]any)
	whole := w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + claimed, as: "helper"}))
	inside, _ := json.Marshal(items[0].(map[string]any)["task"])
	check(reply{status: 200, body: string(inside)}, whole)

	id := w.sent()
	finish := request{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", header: minimal, body: `{"intent":"complete","parts":[{"text":"Done."},{"data":{"n":1}}],"message_id":"m"}`}
	done := w.do(finish)
	whole = w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "helper"}))
	if artifacts := whole["artifacts"].([]any); len(artifacts) != 1 {
		t.Fatalf("artifacts %v", artifacts)
	}
	check(done, whole)
	check(w.do(finish), whole) // again
	check(w.do(request{method: "POST", path: "/v1/agents/helper/tasks/" + id + "/cancel", as: "asker", header: minimal}), whole)
}

func TestWait(t *testing.T) {
	w := newWorld(t)
	id := w.sent()
	for _, bad := range []string{"-1", "31", "1.5", "01", "x", "", "%201", "1e1", "+1", "99999999999999999999"} {
		for _, r := range []request{
			{method: "GET", path: "/v1/a2a/tasks/" + id + "?wait=" + bad, as: "asker"},
			{method: "POST", path: "/v1/a2a/tasks?wait=" + bad, as: "asker", body: `{"target_handle":"helper","message":"x"}`},
		} {
			if a := w.do(r); a.status != 400 || w.problem(a).Errors[0].Field != "wait" {
				t.Errorf("wait=%s: %d %s", bad, a.status, a.body)
			}
		}
	}
	begin := time.Now()
	if a := w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id + "?wait=1", as: "asker"}); a.status != 200 || time.Since(begin) < time.Second {
		t.Errorf("%d after %s", a.status, time.Since(begin))
	}
	time.AfterFunc(300*time.Millisecond, func() {
		w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", body: `{"intent":"complete","message":"x"}`})
	})
	begin = time.Now()
	if a := w.object(w.do(request{method: "GET", path: "/v1/agents/helper/tasks/" + id + "?wait=30", as: "asker"})); a["state"] != "completed" || a["result"] != "x" || time.Since(begin) > 5*time.Second {
		t.Errorf("%v after %s", a["state"], time.Since(begin))
	}
	if a := w.do(request{method: "POST", path: "/v1/a2a/tasks?wait=1", as: "asker", body: `{"target_handle":"helper","message":"x"}`, header: map[string]string{"Prefer": "return=minimal"}}); a.status != 201 || strings.Contains(a.body, `"messages"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestLogLine looks at what a request leaves in the log: who, what, how it ended and what it cost, but no text and no key.
func TestLogLine(t *testing.T) {
	w := newWorld(t)
	for _, as := range []string{"asker", "helper"} { // their keys are looked up, and their use is noted
		w.do(request{method: "GET", path: "/v1/a2a/tasks/search", as: as})
	}
	w.log.take()
	w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","message":"very private","message_id":"also private"}`})
	w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","message":"very private","private":1}`})
	w.do(request{method: "GET", path: "/v1/a2a/tasks/search?q=private", as: "helper"})
	w.do(request{method: "GET", path: "/v1/a2a/tasks/search", header: map[string]string{"X-API-Key": "btk_agent_private"}})
	w.faults.On("TransactWriteItems").Always().Fail(500, "InternalServerError")
	if got := w.outcome(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","message":"very private"}`})); got != "unavailable" {
		t.Errorf("storage down: %s", got)
	}
	w.faults.Reset()
	all := w.log.take()
	for _, secret := range []string{"private", w.key["asker"], w.key["helper"]} {
		if strings.Contains(all, secret) {
			t.Errorf("the log has %q: %s", secret, all)
		}
	}
	lines := strings.Split(strings.TrimSpace(all), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines: %s", len(lines), all)
	}
	var statuses []string
	for _, text := range lines {
		var l struct {
			Status                            int
			Code, Route, Cause                string
			RequestID                         string `json:"request_id"`
			KeyID                             string `json:"key_id"`
			IdentityID                        string `json:"identity_id"`
			ReadUnits, WriteUnits, DurationMs float64
			AWS                               struct {
				CloudWatchMetrics []struct {
					Namespace  string
					Dimensions [][]string
					Metrics    []struct{ Name string }
				}
			} `json:"_aws"`
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		statuses = append(statuses, fmt.Sprint(l.Status, " ", l.Code, " ", l.WriteUnits))
		var fields map[string]any
		json.Unmarshal([]byte(text), &fields)
		if len(l.AWS.CloudWatchMetrics) == 0 || len(l.AWS.CloudWatchMetrics[0].Metrics) == 0 || len(l.AWS.CloudWatchMetrics[0].Dimensions) == 0 {
			t.Errorf("no metrics: %s", text)
		}
		for _, set := range l.AWS.CloudWatchMetrics {
			for _, m := range set.Metrics {
				if _, there := fields[m.Name]; !there {
					t.Errorf("no value of the metric %s: %s", m.Name, text)
				}
			}
			for _, d := range set.Dimensions[0] {
				if _, there := fields[d]; !there {
					t.Errorf("no value of the dimension %s: %s", d, text)
				}
			}
		}
		if l.RequestID == "" || l.Route == "" || l.Status != 401 && (l.KeyID == "" || l.IdentityID == "") || (l.Status == 503) != (l.Cause != "") {
			t.Errorf("not a whole line: %s", text)
		}
	}
	if got, want := strings.Join(statuses, ", "), "201  8, 400 a2a.invalid_request 0, 200  0, 401 a2a.unauthorized 0, 503 a2a.unavailable 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
