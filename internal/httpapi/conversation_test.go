package httpapi_test

import (
	"fmt"
	"net/url"
	"testing"

	"baton/internal/directory"
)

func unescape(s string) string {
	plain, err := url.QueryUnescape(s)
	if err != nil {
		return s
	}
	return plain
}

func TestEveryRouteOfATask(t *testing.T) {
	w := newWorld(t)
	id := w.sent()
	for _, r := range []request{
		{method: "GET", path: "/v1/a2a/tasks/" + id, as: "asker"},
		{method: "GET", path: "/v1/a2a/tasks/" + id, as: "viewer"},
		{method: "GET", path: "/v1/identities/@Helper/a2a/tasks/" + id, as: "helper"},
		{method: "GET", path: "/v1/identities/asker/a2a/sent/tasks/" + id, as: "member"},
		{method: "GET", path: "/v1/agents/helper/tasks/" + id, as: "asker"},
		{method: "GET", path: "/v1/agents/" + w.helper.ID.String() + "/tasks/" + id, as: "helper"},
		{method: "GET", path: "/v1/a2a/tasks/search?state=submitted&direction=outbound", as: "asker"},
		{method: "GET", path: "/v1/a2a/tasks?identity_id=" + w.asker.ID.String(), as: "admin"},
		{method: "GET", path: "/v1/identities/helper/a2a/tasks?q=refund", as: "helper"},
		{method: "GET", path: "/v1/identities/asker/a2a/sent/tasks", as: "asker"},
		{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", body: `{"intent":"ask_caller","message":"How much?"}`},
		{method: "POST", path: "/v1/identities/asker/a2a/sent/tasks/" + id + "/messages", as: "asker", body: `{"message":"42"}`},
		{method: "POST", path: "/v1/a2a/tasks/" + id + "/messages", as: "member", body: `{"parts":[{"data":{"a":1}}]}`, header: map[string]string{"X-Act-As-Identity": "asker"}},
		{method: "PATCH", path: "/v1/a2a/tasks/" + id, as: "helper", body: `{"state":"working"}`},
		{method: "GET", path: "/v1/a2a/tasks/" + id + "/messages", as: "asker"},
		{method: "GET", path: "/v1/identities/helper/a2a/tasks/" + id + "/messages?limit=1", as: "helper"},
		{method: "GET", path: "/v1/identities/asker/a2a/sent/tasks/" + id + "/messages", as: "asker"},
		{method: "POST", path: "/v1/agents/helper/tasks/" + id + "/cancel", as: "asker"},
		{method: "POST", path: "/v1/a2a/tasks/" + id + "/cancel", as: "asker", body: `{}`},
		{method: "POST", path: "/v1/identities/asker/a2a/sent/tasks/" + id + "/cancel", as: "asker"},
		{method: "POST", path: "/v1/agents/helper/tasks", as: "asker", body: `{"message":"x"}`},
		{method: "POST", path: "/v1/identities/asker/a2a/tasks", as: "asker", body: `{"target_handle":"@Helper","message":"x"}`},
		{method: "POST", path: "/v1/identities/asker/a2a/sent/tasks", as: "asker", body: `{"target_handle":"helper","message":"x"}`},
	} {
		if a := w.do(r); a.status >= 300 {
			t.Errorf("%s %s: %d %s", r.method, r.path, a.status, a.body)
		}
	}
}

// TestANewTaskChangesNoOther has a task that asked stay as it is while others of its conversation come, from either side,
// and go (contract section 2, "Send").
func TestANewTaskChangesNoOther(t *testing.T) {
	w := newWorld(t)
	id := w.sent()
	w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", body: `{"intent":"ask_caller","message":"How much?"}`}))
	read := request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "asker"}
	asked := w.do(read)
	conversation := w.object(asked)["context_id"]
	for _, by := range []struct{ from, to string }{{"asker", "helper"}, {"helper", "asker"}} {
		next := w.object(w.do(request{method: "POST", path: "/v1/agents/" + by.to + "/tasks", as: by.from, body: fmt.Sprintf(`{"message":"42","context_id":%q}`, conversation)}))
		if next["state"] != "submitted" || next["context_id"] != conversation || next["id"] == id {
			t.Errorf("%v", next)
		}
		w.object(w.do(request{method: "POST", path: fmt.Sprintf("/v1/a2a/tasks/%s/reply", next["id"]), as: by.to, body: `{"intent":"complete","message":"Done."}`}))
	}
	if now := w.do(read); now.body != asked.body || w.object(now)["state"] != "input_required" {
		t.Errorf("the task that asked is now %s", now.body)
	}
}

// TestEveryHandleMayBeAnID has an identity's id wherever a handle is asked for (contract section 1).
func TestEveryHandleMayBeAnID(t *testing.T) {
	w := newWorld(t)
	on, id := true, w.stranger.ID.String()
	_, err := w.people.EditIdentity(t.Context(), w.in(w.key["foreign admin"]), "stranger", directory.IdentityEdit{Discoverable: &on})
	w.must(err)
	sent := w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: fmt.Sprintf(`{"target_handle":%q,"message":"hi"}`, id)}))
	if target := sent["target"].(map[string]any); target["handle"] != "stranger" || target["identity_id"] != id {
		t.Errorf("sent to %v", target)
	}
	for _, query := range []string{"tasks/search?worker_handle=" + id, "messages?worker_handle=" + id, "messages?requester_handle=" + w.asker.ID.String()} {
		if found := w.object(w.do(request{method: "GET", path: "/v1/a2a/" + query, as: "asker"}))["items"].([]any); len(found) != 1 {
			t.Errorf("%s: %d found", query, len(found))
		}
	}
	if found := w.object(w.do(request{method: "GET", path: "/v1/a2a/messages?worker_handle=" + w.asker.ID.String(), as: "asker"}))["items"].([]any); len(found) != 0 {
		t.Errorf("%d messages to itself", len(found))
	}
	connected := w.object(w.do(request{method: "POST", path: "/v1/a2a/connections", as: "asker", body: fmt.Sprintf(`{"target_handle":%q}`, id)}))
	if connected["target"].(map[string]any)["handle"] != "stranger" {
		t.Errorf("connected with %v", connected["target"])
	}
	rules := w.do(request{method: "PUT", path: "/v1/identities/asker/a2a/access", as: "asker", body: fmt.Sprintf(`{"rules":[{"effect":"deny","handle":%q},{"effect":"allow","handle":"@Stranger"}]}`, id)})
	if rules.body != `{"rules":[{"effect":"deny","handle":"stranger"},{"effect":"allow","handle":"stranger"}]}` {
		t.Errorf("%d %s", rules.status, rules.body)
	}
	if a := w.do(request{method: "PUT", path: "/v1/identities/asker/a2a/access", as: "asker", body: `{"rules":[{"effect":"deny","handle":"` + nowhere + `"}]}`}); a.status != 400 {
		t.Errorf("a rule about nobody: %d %s", a.status, a.body)
	}
}

// TestAnOldTaskIsAsOfItsSend renames and removes both agents of a task, and verifies the requester's organization: the
// task stays as it was, and is found by what was recorded (contract section 2, "Task").
func TestAnOldTaskIsAsOfItsSend(t *testing.T) {
	w := newWorld(t)
	on, operator := true, directory.Principal{Kind: directory.Operator}
	w.must(func() error {
		_, err := w.people.EditIdentity(t.Context(), w.in(w.key["admin"]), "helper", directory.IdentityEdit{Discoverable: &on})
		return err
	}())
	sent := w.object(w.do(request{method: "POST", path: "/v1/agents/helper/tasks", as: "stranger", body: `{"message":"hi"}`}))
	read := func() reply {
		return w.do(request{method: "GET", path: fmt.Sprintf("/v1/a2a/tasks/%s", sent["id"]), as: "admin"})
	}
	was := read()
	if caller := w.object(was)["caller"].(map[string]any); caller["handle"] != "stranger" || caller["verified"] != false || caller["trust_tier"] != "unverified" {
		t.Fatalf("%v", caller)
	}
	for old, admin := range map[string]string{"helper": "admin", "stranger": "foreign admin"} {
		next := old + "-2"
		_, err := w.people.EditIdentity(t.Context(), w.in(w.key[admin]), old, directory.IdentityEdit{Handle: &next})
		w.must(err)
	}
	_, err := w.people.EditOrganization(t.Context(), operator, w.stranger.Organization.ID.String(), directory.OrganizationEdit{Verified: &on})
	w.must(err)
	w.must(w.people.DeleteIdentity(t.Context(), w.in(w.key["foreign admin"]), "stranger-2"))
	if now := read(); now.body != was.body {
		t.Errorf("was %s, is %s", was.body, now.body)
	}
	for query, want := range map[string]int{"requester_handle=stranger": 1, "requester_handle=stranger-2": 0, "worker_handle=helper": 1, "worker_handle=helper-2": 0} {
		found := w.object(w.do(request{method: "GET", path: "/v1/identities/helper-2/a2a/tasks?" + query, as: "admin"}))["items"].([]any)
		if len(found) != want {
			t.Errorf("%s: %d found", query, len(found))
		}
	}
}

// TestTheNilUUIDIsNobodys names nothing, by a well-formed id, wherever one may be named: it is no task, no conversation, no
// lease, and no filter that lets everything pass.
func TestTheNilUUIDIsNobodys(t *testing.T) {
	w := newEventsWorld(t)
	w.happen(1)
	const none = "00000000-0000-0000-0000-000000000000"
	id := w.sent()
	claim := w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/claim", as: "helper"}))
	if len(claim["items"].([]any)) != 1 {
		t.Fatalf("%v", claim)
	}
	for _, path := range []string{
		"/v1/a2a/tasks/search?context_id=" + none, "/v1/a2a/messages?context_id=" + none, "/v1/a2a/messages?task_id=" + none,
		"/v1/a2a/tasks/search?worker_handle=" + none, "/v1/events?aggregate_id=" + none,
	} {
		if items := w.object(w.do(request{method: "GET", path: path, as: "asker"}))["items"].([]any); len(items) != 0 {
			t.Errorf("%s: %d found", path, len(items))
		}
	}
	for _, row := range []struct {
		want string
		request
	}{
		{"not_found", request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","message":"x","context_id":"` + none + `"}`}},
		{"not_found", request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_identity_id":"` + none + `","message":"x"}`}},
		{"not_found", request{method: "POST", path: "/v1/agents/" + none + "/tasks", as: "asker", body: `{"message":"x"}`}},
		{"not_found", request{method: "GET", path: "/v1/agents/" + none + "/tasks/" + id, as: "asker"}},
		{"not_found", request{method: "POST", path: "/v1/agents/" + none + "/tasks/" + id + "/cancel", as: "asker"}},
		{"not_found", request{method: "GET", path: "/v1/a2a/tasks/" + none, as: "asker"}},
		{"not_found", request{method: "GET", path: "/v1/a2a/contexts/" + none, as: "asker"}},
		{"not_found", request{method: "GET", path: "/v1/identities/" + none + "/a2a/tasks", as: "viewer"}},
		{"not_found", request{method: "GET", path: "/v1/events?identity_id=" + none, as: "viewer"}},
		{"not_found", request{method: "GET", path: "/v1/organizations/" + none, as: "operator"}},
		{"not_found", request{method: "GET", path: "/v1/organizations/" + none, as: "admin"}},
		{"not_found", request{method: "GET", path: "/v1/webhooks/" + none, as: "admin"}},
		{"not_found", request{method: "DELETE", path: "/v1/keys/" + none, as: "admin"}},
		{"not_found", request{method: "POST", path: "/v1/a2a/connections/" + none + "/revoke", as: "asker"}},
		{"lease_lost", request{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", body: `{"intent":"complete","message":"x","lease_id":"` + none + `"}`}},
		{"lease_lost", request{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", body: `{"intent":"progress","lease_id":"` + none + `"}`}},
	} {
		if got := w.outcome(w.do(row.request)); got != row.want {
			t.Errorf("%s %s %s: %s, want %s", row.method, row.path, row.body, got, row.want)
		}
	}
}
