package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"baton/internal/directory"
	"baton/internal/httpapi"
)

// trips is how many round trips to the tables the last request took.
func (w *world) trips() int {
	w.Helper()
	var line struct{ RoundTrips int }
	w.must(json.Unmarshal([]byte(w.log.take()), &line))
	return line.RoundTrips
}

// An attacker of another organization has a good key and knows every id, handle, message id and cursor. By no route,
// header, parameter or reference does it get another answer than for what does not exist,
// nor one that takes more round trips.
func TestAttackerGetsNothing(t *testing.T) {
	w := everyRoute(t)
	first := w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker",
		body: `{"target_handle":"helper","message":"the secret plan, ` + strings.Repeat("and so on, ", 100) + `","message_id":"known"}`}))
	w.sent()
	for n := range 120 { // more than the first query of a read gives
		w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + first["id"].(string) + "/messages", as: "asker", body: fmt.Sprintf(`{"message":"the secret plan, part %d"}`, n)}))
	}
	connection, _, err := w.people.Connect(t.Context(), w.asker, directory.Ref{ID: w.helper.ID}, "a secret note")
	w.must(err)
	key, _, err := w.people.CreateKey(t.Context(), w.in(w.key["admin"]), directory.NewKeyRequest{Role: directory.Viewer})
	w.must(err)
	hook, delivery := w.toldHook()
	cursors := map[string]string{}
	for _, path := range []string{"/v1/a2a/tasks/search", "/v1/identities/asker/a2a/sent/tasks", "/v1/identities", "/v1/keys", "/v1/a2a/tasks/" + first["id"].(string) + "/messages"} {
		as, header := "asker", map[string]string{}
		if path == "/v1/identities" || path == "/v1/keys" {
			as = "admin"
		}
		if c, ok := w.object(w.do(request{method: "GET", path: path + "?limit=1", as: as, header: header}))["next_cursor"].(string); ok {
			cursors[path] = c
		}
	}
	if len(cursors) < 4 {
		t.Fatalf("cursors only of %v", cursors)
	}

	victim := w.in(w.key["admin"]).Organization.String()
	bodies := map[string]string{
		"send-task":            `{"TARGET":"AGENT","message":"x","message_id":"known","context_id":"CONTEXT","reference_task_ids":["TASK"]}`,
		"add-message":          `{"message":"x","message_id":"known","reference_task_ids":["TASK"]}`,
		"reply-task":           `{"intent":"complete","message":"x","message_id":"known"}`,
		"set-task-state":       `{"state":"completed"}`,
		"manage-organizations": `{"name":"Mine now"}`,
		"manage-identities":    `{"description":"mine now"}`,
		"manage-keys":          `{"identity":"AGENT"}`,
		"manage-connections":   `{"target_handle":"nobody"}`,
		"claim-task":           `{"max":10}`,
		"replay-events":        `{"from_sequence":1,"to_sequence":9}`,
		"manage-access":        `{"rules":[]}`,
		"manage-webhooks":      `{"url":"https://8.8.8.8/","identity_id":"AGENT"}`, // without events none is made
	}
	real := []string{"TASK", first["id"].(string), "CONTEXT", first["context_id"].(string), "ORGANIZATION", victim, "CONNECTION", connection.ID.String(), "KEY", key.KeyID.String(), "HOOK", hook.ID.String(), "DELIVERY", delivery.ID.String()}
	none := []string{"TASK", nowhere, "CONTEXT", nowhere, "ORGANIZATION", nowhere, "CONNECTION", nowhere, "KEY", nowhere, "HOOK", nowhere, "DELIVERY", nowhere}
	calls := 0
	for _, route := range httpapi.Routes {
		id := "TASK"
		switch {
		case strings.Contains(route.Path, "/organizations/"):
			id = "ORGANIZATION"
		case strings.Contains(route.Path, "/connections/"):
			id = "CONNECTION"
		case strings.Contains(route.Path, "/webhooks/"):
			id = "HOOK"
		case strings.Contains(route.Path, "/keys/"):
			id = "KEY"
		case strings.Contains(route.Path, "/contexts/"):
			id = "CONTEXT"
		}
		path := strings.NewReplacer("{id}", id, "{agent}", "AGENT", "{callee}", "AGENT", "{delivery}", "DELIVERY").Replace(route.Path)
		body := bodies[route.Endpoint]
		if route.Method == "GET" || strings.HasSuffix(path, "e") && strings.Contains(path, "CONNECTION") || strings.HasSuffix(path, "/suspend") || strings.HasSuffix(path, "/resume") || route.Method == "DELETE" || strings.HasSuffix(path, "/cancel") || strings.HasSuffix(path, "-secret") || strings.HasSuffix(path, "/redeliver") {
			body = ""
		}
		if route.Method == "POST" && (route.Path == "/v1/organizations" || route.Path == "/v1/identities") {
			continue // they name nothing of the victim's
		}
		var queries []string
		if route.Method == "GET" {
			queries = []string{"identity_id=AGENT", "context_id=CONTEXT", "task_id=TASK"}
		}
		for _, as := range []string{"stranger", "foreign admin"} {
			for _, actAs := range []string{"", "stranger", "AGENT"} {
				for _, query := range append([]string{""}, queries...) {
					if actAs != "AGENT" && !strings.Contains(path+body+query, "AGENT") && path == route.Path && query == "" && !strings.Contains(body, "CONTEXT") {
						continue
					}
					answers := map[string]string{}
					trips := map[string]int{}
					for _, of := range []string{"real", "real by id", "none"} {
						ids, agent := real, "asker"
						switch of {
						case "real by id":
							agent = w.asker.ID.String()
						case "none":
							ids, agent = none, "nobody"
							sends := route.Endpoint == "send-task" && !strings.Contains(route.Path, "{agent}")
							if actAs != "AGENT" && (sends || strings.Contains(route.Path, "{callee}")) {
								agent = "asker" // that there is such a worker is what every send tells
							}
						}
						target := "target_handle"
						if strings.Count(agent, "-") == 4 {
							target = "target_identity_id"
						}
						fill := strings.NewReplacer(append(ids, "AGENT", agent, "TARGET", target)...)
						q := request{method: route.Method, path: fill.Replace(path), as: as, body: fill.Replace(body), header: map[string]string{}}
						if route.Path == "/v1/agents/{callee}/tasks" {
							q.body = strings.Replace(q.body, `"`+target+`":"`+agent+`",`, "", 1)
						}
						if query != "" {
							q.path += "?" + fill.Replace(query)
						}
						if actAs != "" {
							q.header["X-Act-As-Identity"] = fill.Replace(actAs)
						}
						w.log.take()
						a := w.do(q)
						calls++
						trips[of] = w.trips()
						for range 2 { // a key is looked up now and then
							w.do(q)
							trips[of] = min(trips[of], w.trips())
						}
						answers[of] = fmt.Sprintf("%d %s %s", a.status, maps.Clone(a.header), a.body)
						for _, secret := range []string{"secret", first["id"].(string), first["context_id"].(string), victim, w.asker.ID.String(), connection.ID.String(), key.KeyID.String(), "helper"} {
							if strings.Contains(a.body, secret) {
								t.Errorf("%s as %s acting as %q: %s has %q: %s", q.path, as, actAs, of, secret, a.body)
							}
						}
					}
					if trips["real"] != trips["none"] { // by id an agent is found by another way
						t.Errorf("%s %s?%s as %s acting as %q: round trips %v", route.Method, path, query, as, actAs, trips)
					}
					if answers["real"] != answers["none"] || answers["real by id"] != answers["none"] {
						t.Errorf("%s %s?%s as %s acting as %q:\n  real  %s\n  by id %s\n  none  %s", route.Method, path, query, as, actAs,
							answers["real"], answers["real by id"], answers["none"])
					}
				}
			}
		}
	}
	t.Logf("%d calls", calls)

	for path, cursor := range cursors {
		for _, as := range []string{"stranger", "foreign admin"} {
			path := strings.Replace(path, "/asker/", "/stranger/", 1)
			if strings.Contains(path, "/messages") && as == "stranger" {
				continue // 404 for the task, above
			}
			header := map[string]string{}
			if strings.Contains(path, "/a2a/") && as == "foreign admin" {
				header["X-Act-As-Identity"] = "stranger"
			}
			if path == "/v1/keys" && as == "stranger" {
				continue
			}
			real := w.do(request{method: "GET", path: path + "?limit=1&cursor=" + cursor, as: as, header: header})
			made := w.do(request{method: "GET", path: path + "?limit=1&cursor=AAAA", as: as, header: header})
			if real.status < 400 || real.body != made.body {
				t.Errorf("%s as %s with the victim's cursor: %d %s; with a made-up one %d %s", path, as, real.status, real.body, made.status, made.body)
			}
		}
	}
	// And nothing happened.
	now := w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + first["id"].(string), as: "asker"}))
	if now["state"] != "submitted" || now["history_truncated"] != true {
		t.Errorf("the task is now %v", now)
	}
	if c, err := w.people.Connection(t.Context(), w.asker, connection.ID.String()); err != nil || c.State != directory.Pending {
		t.Errorf("the connection is %s, %v", c.State, err)
	}
}
