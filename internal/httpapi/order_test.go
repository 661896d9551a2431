package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"baton/internal/directory"
)

const nowhere = "00000000-0000-4000-8000-000000000000"

// TestOrderOfAnswers has a request with everything wrong, and takes one wrong away at a time (contract section 1, "Order
// of answers").
func TestOrderOfAnswers(t *testing.T) {
	w := newWorld(t)
	id := w.sent()
	w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", body: `{"intent":"complete","message":"done","message_id":"old"}`})
	stale := map[string]string{"If-Match": `"1"`}
	rows := []struct {
		name string
		request
		want string
	}{
		{"no key, before a foreign agent", request{"POST", "/v1/identities/stranger/a2a/tasks/" + nowhere + "/reply", "", `{`, stale}, "unauthorized"},
		{"a foreign agent, before the body", request{"POST", "/v1/identities/stranger/a2a/tasks/" + nowhere + "/reply", "helper", `{`, stale}, "not_found"},
		{"the body, before who may act as the agent", request{"POST", "/v1/identities/asker/a2a/tasks/" + nowhere + "/reply", "helper", `{`, stale}, "invalid_request"},
		{"the body, before the task", request{"POST", "/v1/a2a/tasks/" + nowhere + "/reply", "asker", `{`, stale}, "invalid_request"},
		{"the body, before a malformed task id", request{"POST", "/v1/a2a/tasks/x/reply", "asker", `{`, stale}, "invalid_request"},
		{"a malformed task id", request{"POST", "/v1/a2a/tasks/x/reply", "asker", `{"intent":"complete","message":"x"}`, stale}, "not_found"},
		{"the task, before the role", request{"POST", "/v1/identities/helper/a2a/tasks/" + nowhere + "/reply", "viewer", `{"intent":"complete","message":"x"}`, stale}, "not_found"},
		{"the role, before the version", request{"POST", "/v1/identities/helper/a2a/tasks/" + id + "/reply", "viewer", `{"intent":"complete","message":"x"}`, stale}, "forbidden"},
		{"the side, before the version", request{"POST", "/v1/a2a/tasks/" + id + "/reply", "asker", `{"intent":"complete","message":"x"}`, stale}, "forbidden"},
		{"a replay, before the version", request{"POST", "/v1/a2a/tasks/" + id + "/reply", "helper", `{"intent":"fail","message":"x","message_id":"old"}`, stale}, "ok"},
		{"the version, before the state", request{"POST", "/v1/a2a/tasks/" + id + "/reply", "helper", `{"intent":"fail","message":"x"}`, stale}, "precondition_failed"},
		{"the state", request{"POST", "/v1/a2a/tasks/" + id + "/reply", "helper", `{"intent":"fail","message":"x"}`, map[string]string{"If-Match": `"2"`}}, "task_terminal"},

		{"reply: only a progress with a lease may go without a message", request{"POST", "/v1/a2a/tasks/" + id + "/reply", "helper", `{"intent":"complete","lease_id":"` + nowhere + `"}`, nil}, "invalid_request"},

		{"send: the body, before the worker", request{"POST", "/v1/a2a/tasks", "asker", `{"target_handle":"nobody","message":1}`, nil}, "invalid_request"},
		{"send: the callee, before the body", request{"POST", "/v1/agents/nobody/tasks", "asker", `{`, nil}, "not_found"},
		{"send: a malformed callee, before the body", request{"POST", "/v1/agents/-/tasks", "asker", `{`, nil}, "not_found"},
		{"send: the worker, before the role", request{"POST", "/v1/a2a/tasks", "viewer", `{"target_handle":"nobody","message":"x"}`, map[string]string{"X-Act-As-Identity": "asker"}}, "not_found"},
		{"send: the role, before admission", request{"POST", "/v1/a2a/tasks", "viewer", `{"target_handle":"stranger","message":"x"}`, map[string]string{"X-Act-As-Identity": "asker"}}, "forbidden"},
		{"send: admission", request{"POST", "/v1/a2a/tasks", "asker", `{"target_handle":"stranger","message":"x"}`, nil}, "not_admitted"},
		{"send: to itself", request{"POST", "/v1/a2a/tasks", "asker", `{"target_handle":"@Asker","message":"x"}`, nil}, "invalid_request"},
		{"send: to itself, by its id", request{"POST", "/v1/a2a/tasks", "asker", `{"target_identity_id":"` + w.asker.ID.String() + `","message":"x"}`, nil}, "invalid_request"},
		{"send: to itself, by the path", request{"POST", "/v1/agents/asker/tasks", "asker", `{"message":"x"}`, nil}, "invalid_request"},
		{"send: no agent named, before the body", request{"POST", "/v1/a2a/tasks", "member", `{`, nil}, "invalid_request"},
		{"send: a malformed agent in the header", request{"POST", "/v1/a2a/tasks", "member", `{"target_handle":"helper","message":"x"}`, map[string]string{"X-Act-As-Identity": "-"}}, "invalid_request"},
		{"send: an unknown agent in the header, before the body", request{"POST", "/v1/a2a/tasks", "member", `{`, map[string]string{"X-Act-As-Identity": "nobody"}}, "not_found"},
		{"send: a foreign agent in the header, before the body", request{"POST", "/v1/a2a/tasks", "member", `{`, map[string]string{"X-Act-As-Identity": "stranger"}}, "not_found"},
		{"send: another agent in the header of an agent's key", request{"POST", "/v1/a2a/tasks", "asker", `{"target_handle":"bystander","message":"x"}`, map[string]string{"X-Act-As-Identity": "helper"}}, "forbidden"},
		{"send: its own agent in the header of an agent's key", request{"POST", "/v1/a2a/tasks", "asker", `{"target_handle":"bystander","message":"x"}`, map[string]string{"X-Act-As-Identity": "@ASKER"}}, "ok"},
		{"cancel: an unknown callee by id, before the body", request{"POST", "/v1/agents/" + nowhere + "/tasks/" + id + "/cancel", "asker", `{`, nil}, "not_found"},

		{"list: no agent named", request{"GET", "/v1/a2a/tasks/search", "viewer", "", nil}, "invalid_request"},
		{"list: an agent named by the query", request{"GET", "/v1/a2a/tasks/search?identity_id=" + w.asker.ID.String(), "viewer", "", nil}, "ok"},
		{"list: another agent by an agent's key", request{"GET", "/v1/a2a/tasks/search?identity_id=" + w.helper.ID.String(), "asker", "", nil}, "forbidden"},
		{"list: a foreign agent by the query", request{"GET", "/v1/a2a/tasks/search?identity_id=" + w.stranger.ID.String(), "viewer", "", nil}, "not_found"},
		{"list: the operator", request{"GET", "/v1/a2a/tasks/search", "operator", "", nil}, "forbidden"},
		{"list: the query, before who may act as the agent", request{"GET", "/v1/identities/asker/a2a/tasks?limit=0", "helper", "", nil}, "invalid_request"},
		{"list: who may act as the agent", request{"GET", "/v1/identities/asker/a2a/tasks", "helper", "", nil}, "forbidden"},
		{"list: a parameter that is given twice, after a foreign agent", request{"GET", "/v1/identities/stranger/a2a/tasks?limit=1&limit=2", "asker", "", nil}, "not_found"},
		{"list: another parameter, before who may act as the agent of the query", request{"GET", "/v1/a2a/tasks/search?limit=0&identity_id=" + w.helper.ID.String(), "asker", "", nil}, "invalid_request"},
		{"list: the agent of the path by the query too, in another way", request{"GET", "/v1/identities/asker/a2a/tasks?identity_id=@ASKER", "asker", "", nil}, "ok"},
		{"list: another agent by the query than by the path", request{"GET", "/v1/identities/asker/a2a/tasks?identity_id=helper", "admin", "", nil}, "invalid_request"},
		{"list: an unknown agent by the query beside the path", request{"GET", "/v1/identities/asker/a2a/tasks?identity_id=nobody", "admin", "", nil}, "invalid_request"},
		{"read: who may act as the agent, whatever the task", request{"GET", "/v1/identities/asker/a2a/sent/tasks/" + nowhere, "helper", "", nil}, "forbidden"},
		{"read: the operator", request{"GET", "/v1/a2a/tasks/" + id, "operator", "", nil}, "not_found"},
		{"read: no agent named is the organization", request{"GET", "/v1/a2a/tasks/" + id, "viewer", "", nil}, "ok"},
		{"read: the wrong side", request{"GET", "/v1/identities/asker/a2a/tasks/" + id, "asker", "", nil}, "not_found"},
		{"write: the wrong side", request{"POST", "/v1/identities/asker/a2a/tasks/" + id + "/reply", "asker", `{"intent":"fail","message":"x"}`, nil}, "not_found"},
		{"set: neither state nor result", request{"PATCH", "/v1/a2a/tasks/" + id, "helper", `{"message_id":"x"}`, nil}, "invalid_request"},
		{"set: to submitted", request{"PATCH", "/v1/a2a/tasks/" + id, "helper", `{"state":"submitted"}`, nil}, "invalid_request"},
		{"set: to canceled", request{"PATCH", "/v1/a2a/tasks/" + id, "helper", `{"state":"canceled"}`, nil}, "invalid_request"},
		{"set: an empty result", request{"PATCH", "/v1/a2a/tasks/" + id, "helper", `{"result":""}`, nil}, "invalid_request"},
		{"set: by the requester, before the state", request{"PATCH", "/v1/a2a/tasks/" + id, "asker", `{"state":"failed"}`, nil}, "forbidden"},
		{"add: by the worker, before the state", request{"POST", "/v1/a2a/tasks/" + id + "/messages", "helper", `{"message":"x"}`, nil}, "forbidden"},
		{"cancel: by the worker, before the state", request{"POST", "/v1/a2a/tasks/" + id + "/cancel", "helper", ``, nil}, "forbidden"},
		{"cancel: by the worker, where an end is fine", request{"POST", "/v1/agents/helper/tasks/" + id + "/cancel", "helper", ``, nil}, "forbidden"},
		{"cancel: one that ended otherwise", request{"POST", "/v1/a2a/tasks/" + id + "/cancel", "asker", ``, nil}, "task_terminal"},
		{"cancel: one that ended otherwise, by the path of the sender", request{"POST", "/v1/identities/asker/a2a/sent/tasks/" + id + "/cancel", "asker", ``, nil}, "task_terminal"},
		{"cancel: one that ended otherwise, by the path of the callee", request{"POST", "/v1/agents/@Helper/tasks/" + id + "/cancel", "asker", ``, nil}, "ok"},

		{"identity: the body, before who may edit it", request{"PATCH", "/v1/identities/helper", "asker", `{`, nil}, "invalid_request"},
		{"identity: a field, before who may edit it", request{"PATCH", "/v1/identities/helper", "asker", `{"handle":"-"}`, nil}, "invalid_request"},
		{"identity: a field, before the role", request{"PATCH", "/v1/identities/helper", "viewer", `{"display_name":"` + strings.Repeat("x", 101) + `"}`, nil}, "invalid_request"},
		{"identity: a foreign one, before the body", request{"PATCH", "/v1/identities/stranger", "asker", `{`, nil}, "not_found"},
		{"identity: who may edit it", request{"PATCH", "/v1/identities/helper", "asker", `{"display_name":"x"}`, nil}, "forbidden"},
		{"new identity: a field, before the role", request{"POST", "/v1/identities", "viewer", `{"handle":"-"}`, nil}, "invalid_request"},
		{"new key: a field, before the role", request{"POST", "/v1/keys", "viewer", `{"role":"king"}`, nil}, "invalid_request"},
		{"new key: no field, before the role", request{"POST", "/v1/keys", "asker", `{}`, nil}, "invalid_request"},
		{"new key: a time long past", request{"POST", "/v1/keys", "admin", `{"role":"viewer","expires_at":"0001-01-01T00:00:00Z"}`, nil}, "invalid_request"},
		{"new key: the agent, before the role", request{"POST", "/v1/keys", "viewer", `{"identity":"stranger"}`, nil}, "not_found"},
		{"new organization: a field, before the role", request{"POST", "/v1/organizations", "admin", `{"name":""}`, nil}, "invalid_request"},
		{"organization: a field, before the role", request{"PATCH", "/v1/organizations/" + w.asker.Organization.ID.String(), "viewer", `{"aws_account_id":"1"}`, nil}, "invalid_request"},
		{"organization: a foreign one, before a field", request{"PATCH", "/v1/organizations/" + w.stranger.Organization.ID.String(), "viewer", `{"aws_account_id":"1"}`, nil}, "not_found"},
		{"connection: a field, before the role", request{"POST", "/v1/a2a/connections", "viewer", `{"target_handle":"stranger","note":"` + strings.Repeat("x", 501) + `"}`, map[string]string{"X-Act-As-Identity": "asker"}}, "invalid_request"},
		{"connection: the target, before the role", request{"POST", "/v1/a2a/connections", "viewer", `{"target_handle":"nobody"}`, map[string]string{"X-Act-As-Identity": "asker"}}, "not_found"},
		{"access: a rule, before the role", request{"PUT", "/v1/identities/asker/a2a/access", "viewer", `{"rules":[{"effect":"maybe","verified":true}]}`, nil}, "invalid_request"},
		{"access: a rule, before whose they are", request{"PUT", "/v1/identities/asker/a2a/access", "helper", `{"rules":[{"effect":"deny"}]}`, nil}, "invalid_request"},
		{"read: an unknown callee by id, before the query", request{"GET", "/v1/agents/" + nowhere + "/tasks/" + id + "?wait=x", "asker", "", nil}, "not_found"},
		{"cancel: a callee who is not the target", request{"POST", "/v1/agents/bystander/tasks/" + id + "/cancel", "asker", "", nil}, "not_found"},
		{"read: a callee who is not the target", request{"GET", "/v1/agents/asker/tasks/" + id, "helper", "", nil}, "not_found"},
	}
	for _, r := range rows {
		if got := w.outcome(w.do(r.request)); got != r.want {
			t.Errorf("%s: %s, want %s", r.name, got, r.want)
		}
	}
}

// TestForeignIsNonexistent holds what others get for a task against what they get for an id that does not exist, byte
// for byte.
func TestForeignIsNonexistent(t *testing.T) {
	w := newWorld(t)
	id := w.sent()
	paths := []request{
		{method: "GET", path: "/v1/a2a/tasks/ID"},
		{method: "GET", path: "/v1/a2a/tasks/ID?wait=1"},
		{method: "GET", path: "/v1/a2a/tasks/ID/messages"},
		{method: "GET", path: "/v1/agents/helper/tasks/ID"},
		{method: "GET", path: "/v1/agents/" + w.helper.ID.String() + "/tasks/ID"},
		{method: "POST", path: "/v1/a2a/tasks/ID/messages", body: `{"message":"x","message_id":"m"}`},
		{method: "POST", path: "/v1/a2a/tasks/ID/reply", body: `{"intent":"complete","message":"x"}`},
		{method: "POST", path: "/v1/a2a/tasks/ID/reply", body: `{"intent":"progress","lease_id":"` + nowhere + `"}`},
		{method: "POST", path: "/v1/a2a/tasks/ID/cancel", header: map[string]string{"If-Match": `"9"`}},
		{method: "POST", path: "/v1/agents/helper/tasks/ID/cancel"},
		{method: "PATCH", path: "/v1/a2a/tasks/ID", body: `{"state":"completed"}`},
		{method: "GET", path: "/v1/identities/OWN/a2a/tasks/ID"},
		{method: "GET", path: "/v1/identities/OWN/a2a/sent/tasks/ID"},
		{method: "GET", path: "/v1/identities/OWN/a2a/tasks/ID/messages"},
		{method: "GET", path: "/v1/identities/OWN/a2a/sent/tasks/ID/messages"},
		{method: "POST", path: "/v1/identities/OWN/a2a/sent/tasks/ID/messages", body: `{"message":"x"}`},
		{method: "POST", path: "/v1/identities/OWN/a2a/tasks/ID/reply", body: `{"intent":"complete","message":"x"}`},
		{method: "POST", path: "/v1/identities/OWN/a2a/sent/tasks/ID/cancel"},
	}
	answer := func(r request, id, as, own string, header map[string]string) reply {
		r.as, r.path = as, strings.NewReplacer("ID", id, "OWN", own).Replace(r.path)
		all := map[string]string{}
		for _, h := range []map[string]string{r.header, header} {
			for name, value := range h {
				all[name] = value
			}
		}
		r.header = all
		return w.do(r)
	}
	actAs := func(agent string) map[string]string { return map[string]string{"X-Act-As-Identity": agent} }
	for _, who := range []struct {
		as, own string
		header  map[string]string
	}{{"stranger", "stranger", nil}, {"foreign admin", "stranger", actAs("stranger")}, {"bystander", "bystander", nil}, {"admin", "bystander", actAs("bystander")}, {"viewer", "bystander", actAs("bystander")}} {
		for _, r := range paths {
			real, made := answer(r, id, who.as, who.own, who.header), answer(r, nowhere, who.as, who.own, who.header)
			if real.status != 404 || real.body != made.body || len(real.header) != len(made.header) {
				t.Errorf("%s: %s %s: %d %s, but of no such task %d %s", who.as, r.method, r.path, real.status, real.body, made.status, made.body)
			}
		}
	}
	// A context of others is no context, and neither are a task's and a context's ids each other's.
	theirs := w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "asker"}))["context_id"].(string)
	for _, as := range []string{"bystander", "asker"} {
		var bodies []string
		for _, context := range []string{theirs, nowhere, id} {
			if as == "asker" && context == theirs {
				continue
			}
			a := w.do(request{method: "POST", path: "/v1/a2a/tasks", as: as, body: `{"target_handle":"helper","message":"x","context_id":"` + context + `"}`})
			bodies = append(bodies, a.body)
			if a.status != 404 || a.body != bodies[0] {
				t.Errorf("%s into %s: %d %s", as, context, a.status, a.body)
			}
		}
	}
	// An agent of another organization is none, whatever names it.
	for _, agent := range []string{"stranger", w.stranger.ID.String(), "nobody", nowhere, "-", "%zz", "a b"} {
		a := w.do(request{method: "GET", path: "/v1/identities/" + agent + "/a2a/tasks", as: "asker"})
		if a.status != 404 || a.body != w.do(request{method: "GET", path: "/v1/identities/nobody/a2a/tasks", as: "asker"}).body {
			t.Errorf("agent %s: %d %s", agent, a.status, a.body)
		}
	}
}

// TestKeys has every way of showing a key or none.
func TestKeys(t *testing.T) {
	w := newWorld(t)
	asker, helper := w.key["asker"], w.key["helper"]
	revoked := w.newKey(w.key["admin"], directory.NewKeyRequest{Identity: "asker"})
	keys, _, err := w.people.Keys(t.Context(), w.in(w.key["admin"]), [16]byte{}, 100)
	w.must(err)
	w.must(w.people.RevokeKey(t.Context(), w.in(w.key["admin"]), keys[len(keys)-1].KeyID.String()))
	for _, row := range []struct {
		name   string
		header map[string]string
		want   string
	}{
		{"bearer", map[string]string{"Authorization": "Bearer " + asker}, "ok"},
		{"bearer in another case", map[string]string{"authorization": "bearer  " + asker}, "ok"},
		{"the other header", map[string]string{"x-api-key": asker}, "ok"},
		{"both, the same", map[string]string{"Authorization": "Bearer " + asker, "X-API-Key": asker}, "ok"},
		{"both, different", map[string]string{"Authorization": "Bearer " + asker, "X-API-Key": helper}, "unauthorized"},
		{"none", nil, "unauthorized"},
		{"empty", map[string]string{"X-API-Key": ""}, "unauthorized"},
		{"basic", map[string]string{"Authorization": "Basic " + asker}, "unauthorized"},
		{"no scheme", map[string]string{"Authorization": asker}, "unauthorized"},
		{"made up", map[string]string{"X-API-Key": "btk_agent_Qm4nB7xT2kLw9vRz5yHc8sJd3fGp6aEu0iKoXs1tUq2w"}, "unauthorized"},
		{"cut", map[string]string{"X-API-Key": asker[:len(asker)-1]}, "unauthorized"},
		{"revoked", map[string]string{"X-API-Key": revoked}, "unauthorized"},
	} {
		a := w.do(request{method: "GET", path: "/v1/a2a/tasks/search", header: row.header})
		if got := w.outcome(a); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
		if a.status == 401 && a.header["WWW-Authenticate"] == "" {
			t.Errorf("%s: no WWW-Authenticate", row.name)
		}
	}
}

// TestSendToADeletedWorker repeats a send whose worker was deleted since: it is answered as before, and all else as if the
// worker had never been.
func TestSendToADeletedWorker(t *testing.T) {
	w := newWorld(t)
	send := request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","message":"x","message_id":"once"}`}
	id := w.object(w.do(send))["id"]
	byID, inPath := send, send
	byID.body = strings.Replace(send.body, `"target_handle":"helper"`, `"target_identity_id":"`+w.helper.ID.String()+`"`, 1)
	inPath.path, inPath.body = "/v1/agents/helper/tasks", `{"message":"x","message_id":"once"}`
	if a := w.do(request{method: "DELETE", path: "/v1/identities/helper", as: "admin"}); a.status != 204 {
		t.Fatalf("delete: %d %s", a.status, a.body)
	}
	for _, again := range []request{send, byID, inPath} {
		if a := w.do(again); a.status != 200 || w.object(a)["id"] != id {
			t.Errorf("%s %s: %d %s", again.path, again.body, a.status, a.body)
		}
		again.as = "bystander" // did not send it
		if got := w.outcome(w.do(again)); got != "not_found" {
			t.Errorf("%s %s of another: %s", again.path, again.body, got)
		}
	}
	as := map[string]string{"X-Act-As-Identity": "asker"}
	for _, row := range []struct{ path, as, body string }{
		{"/v1/a2a/tasks", "asker", `{"target_handle":"@","message":"x"}`},
		{"/v1/a2a/tasks", "asker", `{"target_handle":"@","message":"x","message_id":"twice"}`},
		{"/v1/a2a/tasks", "viewer", `{"target_handle":"@","message":"x","message_id":"once"}`},
		{"/v1/agents/@/tasks", "asker", `{`},
		{"/v1/agents/@/tasks?wait=x", "asker", `{"message":"x"}`},
		{"/v1/agents/@/tasks", "viewer", `{"message":"x"}`},
	} {
		ask := func(handle string) string {
			r := request{method: "POST", path: strings.Replace(row.path, "@", handle, 1), as: row.as, body: strings.Replace(row.body, "@", handle, 1)}
			if row.as == "viewer" {
				r.header = as
			}
			p := w.problem(w.do(r))
			p.RequestID = ""
			return fmt.Sprintf("%+v", p)
		}
		if got, want := ask("helper"), ask("nobody"); got != want {
			t.Errorf("%+v: %s, want %s", row, got, want)
		}
	}
}
