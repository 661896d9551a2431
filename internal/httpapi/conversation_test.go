package httpapi_test

import (
	"net/url"
	"testing"
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
