package system

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"baton/client"
)

// jsonList decodes the items of a list answer.
func jsonList(t *testing.T, a answer) (items []json.RawMessage) {
	t.Helper()
	var page struct{ Items []json.RawMessage }
	if err := json.Unmarshal(a.body, &page); err != nil {
		t.Fatalf("status %d: %v: %s", a.status, err, a.body)
	}
	return page.Items
}

// anonymous is an answer without what differs from call to call.
func anonymous(t *testing.T, a answer) string {
	t.Helper()
	text := string(a.body)
	if id := a.problem(t).RequestID; id != "" {
		text = strings.ReplaceAll(text, id, "REQUEST")
	}
	var headers []string
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		value := strings.Join(a.header[name], ",")
		switch lower := strings.ToLower(name); {
		case lower == "date":
			continue
		case strings.Contains(lower, "request") || strings.Contains(lower, "amz"):
			value = "…"
		}
		headers = append(headers, name+": "+value)
	}
	return strings.Join(headers, "\n") + "\n\n" + text
}

// Whoever has no part in a task gets, by any route, the very answer of a task that does not exist.
func TestATaskOfOthersIsLikeNone(t *testing.T) {
	t.Parallel()
	w := world(t)
	from, to := pair(t)
	neighbour := agent(t, w.Shop, false) // of the requester's own organization
	stranger := agent(t, w.Bank, false)
	foreign, err := w.Agent(t.Context(), w.Bank, "b-"+strings.ToLower(to.Handle[2:12]), false)
	if err != nil {
		t.Fatal(err)
	}
	sent := newTask(t, from, to, "Between us.")
	if _, err := to.Client.Reply(t.Context(), sent.ID, client.Reply{Intent: client.AskCaller, Draft: client.Draft{Message: "Really?", MessageID: "known"}}); err != nil {
		t.Fatal(err)
	}
	const none = "00000000-0000-4000-8000-000000000000"
	message := map[string]any{"message": "Let me in.", "message_id": "known"}
	reply := map[string]any{"intent": "complete", "message": "Mine.", "message_id": "known"}
	for _, spy := range []struct {
		name, key, handle, actAs string
	}{
		{"another agent of the requester's organization", neighbour.Key, neighbour.Handle, ""},
		{"another agent of the worker's organization", stranger.Key, stranger.Handle, ""},
		{"an org key acting as an agent without a part", w.Bank.Key.Secret, foreign.Handle, foreign.Handle},
	} {
		routes := []struct {
			method, path string
			body         any
		}{
			{"GET", "/v1/a2a/tasks/{id}", nil},
			{"GET", "/v1/a2a/tasks/{id}?wait=1", nil},
			{"PATCH", "/v1/a2a/tasks/{id}", map[string]any{"state": "completed"}},
			{"GET", "/v1/a2a/tasks/{id}/messages", nil},
			{"POST", "/v1/a2a/tasks/{id}/messages", message},
			{"POST", "/v1/a2a/tasks/{id}/reply", reply},
			{"POST", "/v1/a2a/tasks/{id}/cancel", nil},
		}
		for _, agent := range []string{spy.handle, from.Handle, to.Handle} {
			if spy.actAs != "" && agent == to.Handle {
				continue // it may act as its own organization's worker, which has a part
			}
			own := "/v1/identities/" + agent + "/a2a/tasks/{id}"
			out := "/v1/identities/" + agent + "/a2a/sent/tasks/{id}"
			callee := "/v1/agents/" + agent + "/tasks/{id}"
			routes = append(routes, []struct {
				method, path string
				body         any
			}{
				{"GET", own, nil}, {"GET", out, nil}, {"GET", callee, nil},
				{"GET", own + "/messages", nil}, {"GET", out + "/messages", nil},
				{"POST", own + "/reply", reply}, {"POST", out + "/messages", message},
				{"POST", out + "/cancel", nil}, {"POST", callee + "/cancel", nil},
			}...)
		}
		for _, r := range routes {
			var headers []string
			if spy.actAs != "" && !strings.HasPrefix(r.path, "/v1/identities/") {
				headers = append(headers, "X-Act-As-Identity", spy.actAs)
			}
			headers = append(headers, "If-Match", `"1"`)
			real := call(t, spy.key, r.method, strings.ReplaceAll(r.path, "{id}", sent.ID), r.body, headers...)
			made := call(t, spy.key, r.method, strings.ReplaceAll(r.path, "{id}", none), r.body, headers...)
			if real.status != http.StatusNotFound && real.status != http.StatusForbidden || real.status != made.status {
				t.Errorf("%s: %s %s: %d, of a task that does not exist %d", spy.name, r.method, r.path, real.status, made.status)
				continue
			}
			if a, b := anonymous(t, real), anonymous(t, made); strings.ReplaceAll(a, sent.ID, none) != b || strings.Contains(a, sent.ID) {
				t.Errorf("%s: %s %s differs:\n%s\n--\n%s", spy.name, r.method, r.path, a, b)
			}
		}
		// The conversation of others can't be joined, nor told from none.
		for _, context := range []string{sent.ContextID, none} {
			a := call(t, spy.key, "POST", "/v1/a2a/tasks", map[string]any{"target_handle": to.Handle, "message": "Me too.", "context_id": context},
				slices.Concat([]string{"X-Act-As-Identity"}, []string{spy.handle})...)
			if a.status != http.StatusNotFound {
				t.Errorf("%s: joining context %s: %d %s", spy.name, context, a.status, a.body)
			}
		}
	}
	after := read(t, from, sent.ID)
	if after.ETag != `"2"` || len(after.Messages) != 2 {
		t.Errorf("the task has changed: version %s, %d messages", after.ETag, len(after.Messages))
	}
}

func TestTheWrongSideIsLikeNone(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent := newTask(t, from, to, "Sides.")
	for _, c := range []struct {
		key, method, path string
		body              any
		want              int
	}{
		{from.Key, "GET", "/v1/identities/@" + from.Handle + "/a2a/sent/tasks/" + sent.ID, nil, 200},
		{from.Key, "GET", "/v1/identities/" + from.ID + "/a2a/tasks/" + sent.ID, nil, 404},
		{to.Key, "GET", "/v1/identities/" + strings.ToUpper(to.Handle) + "/a2a/tasks/" + sent.ID, nil, 200},
		{to.Key, "GET", "/v1/identities/" + to.Handle + "/a2a/sent/tasks/" + sent.ID, nil, 404},
		{from.Key, "POST", "/v1/identities/" + from.Handle + "/a2a/tasks/" + sent.ID + "/reply", map[string]any{"intent": "complete", "message": "x"}, 404},
		{to.Key, "POST", "/v1/identities/" + to.Handle + "/a2a/sent/tasks/" + sent.ID + "/cancel", nil, 404},
		{from.Key, "GET", "/v1/agents/" + to.Handle + "/tasks/" + sent.ID, nil, 200},
		{from.Key, "GET", "/v1/agents/" + from.Handle + "/tasks/" + sent.ID, nil, 404},
		{from.Key, "POST", "/v1/a2a/tasks/" + sent.ID + "/reply", map[string]any{"intent": "complete", "message": "x"}, 403},
		{to.Key, "POST", "/v1/a2a/tasks/" + sent.ID + "/cancel", nil, 403},
		{to.Key, "POST", "/v1/a2a/tasks/" + sent.ID + "/messages", map[string]any{"message": "x"}, 403},
		{from.Key, "PATCH", "/v1/a2a/tasks/" + sent.ID, map[string]any{"state": "completed"}, 403},
	} {
		if a := call(t, c.key, c.method, c.path, c.body); a.status != c.want {
			t.Errorf("%s %s: %d, want %d: %s", c.method, c.path, a.status, c.want, a.body)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent := newTask(t, from, to, "Keys.")
	path := "/v1/a2a/tasks/" + sent.ID
	for name, key := range map[string]string{
		"none": "", "garbage": "hello", "one with a wrong checksum": from.Key[:len(from.Key)-1] + "!",
	} {
		if a := call(t, key, "GET", path, nil); a.status != http.StatusUnauthorized || a.problem(t).Code == "" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := call(t, "", "GET", path, nil, "X-API-Key", from.Key); a.status != http.StatusOK {
		t.Errorf("by X-API-Key: %d %s", a.status, a.body)
	}
	if a := call(t, from.Key, "GET", path, nil, "X-Act-As-Identity", world(t).Sender.Handle); a.status != http.StatusForbidden {
		t.Errorf("as another of the organization: %d %s", a.status, a.body)
	}
	if a := call(t, from.Key, "GET", path, nil, "X-Act-As-Identity", to.Handle); a.status != http.StatusNotFound {
		t.Errorf("as one of another organization: %d %s", a.status, a.body)
	}
	if a := call(t, world(t).Shop.Key.Secret, "GET", path, nil); a.status != http.StatusOK {
		t.Errorf("a read as the organization: %d %s", a.status, a.body)
	}
	if a := call(t, world(t).Shop.Key.Secret, "POST", path+"/cancel", nil); a.status != http.StatusBadRequest {
		t.Errorf("a write as nobody: %d %s", a.status, a.body)
	}
}
