package httpapi_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/events"
)

// A header that is there twice is not the one of its values that a proxy before us did not look at, whether the gateway
// hands both on under one name or under names in two cases.
func TestRepeatedHeaders(t *testing.T) {
	w := newWorld(t)
	id := w.sent()
	second := w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/messages", as: "asker", body: `{"message":"x"}`})
	if second.header["ETag"] != `"2"` {
		t.Fatalf("ETag %s", second.header["ETag"])
	}
	bearer := func(who string) string { return "Bearer " + w.key[who] }
	read := request{method: "GET", path: "/v1/a2a/tasks/" + id}
	send := request{method: "POST", path: "/v1/a2a/tasks", body: `{"target_handle":"helper","message":"x"}`}
	add := request{method: "POST", path: "/v1/a2a/tasks/" + id + "/messages", body: `{"message":"y"}`}
	for _, row := range []struct {
		name   string
		r      request
		header map[string][]string
		want   string
	}{
		{"one key", read, map[string][]string{"Authorization": {bearer("asker")}}, "ok"},
		{"one key, by the other header", read, map[string][]string{"X-API-Key": {w.key["asker"]}}, "ok"},
		{"the same key in both headers", read, map[string][]string{"Authorization": {bearer("asker")}, "X-API-Key": {w.key["asker"]}}, "ok"},
		{"two keys", read, map[string][]string{"Authorization": {bearer("stranger"), bearer("asker")}}, "unauthorized"},
		{"two keys, the other way round", read, map[string][]string{"Authorization": {bearer("asker"), bearer("stranger")}}, "unauthorized"},
		{"two keys by the other header", read, map[string][]string{"X-API-Key": {w.key["stranger"], w.key["asker"]}}, "unauthorized"},
		{"a key in each header", read, map[string][]string{"Authorization": {bearer("asker")}, "X-API-Key": {w.key["stranger"]}}, "unauthorized"},
		{"two agents", send, map[string][]string{"Authorization": {bearer("member")}, "X-Act-As-Identity": {"bystander", "asker"}}, "invalid_request"},
		{"two agents, in two cases", send, map[string][]string{"Authorization": {bearer("member")}, "X-Act-As-Identity": {"bystander"}, "x-act-as-identity": {"asker"}}, "invalid_request"},
		{"an agent and nothing", send, map[string][]string{"Authorization": {bearer("member")}, "X-Act-As-Identity": {"asker", ""}}, "invalid_request"},
		{"two ids", send, map[string][]string{"Authorization": {bearer("asker")}, "Idempotency-Key": {"a", "b"}}, "invalid_request"},
		{"two ids, in two cases", send, map[string][]string{"Authorization": {bearer("asker")}, "Idempotency-Key": {"a"}, "IDEMPOTENCY-KEY": {"b"}}, "invalid_request"},
		{"two media types", send, map[string][]string{"Authorization": {bearer("asker")}, "Content-Type": {"text/plain", "application/json"}}, "unsupported_media_type"},
		{"versions in two lines", add, map[string][]string{"Authorization": {bearer("asker")}, "If-Match": {`"7"`, `"2"`}}, "ok"},
		{"versions in two lines, none of them right", add, map[string][]string{"Authorization": {bearer("asker")}, "If-Match": {`"7"`, `"2"`}}, "precondition_failed"},
	} {
		e := row.r.event("")
		if e.Body != "" {
			e.Headers["Content-Type"] = "application/json"
		}
		e.MultiValueHeaders = map[string][]string{}
		for name, value := range e.Headers {
			e.MultiValueHeaders[name] = []string{value}
		}
		for name, values := range row.header {
			e.MultiValueHeaders[name], e.Headers[name] = values, values[len(values)-1]
		}
		if got := w.outcome(w.serve(row.r, e)); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

// No header changes the method, and no form of an agent's name leads to another one.
func TestNamesThatAreNearlyAnAgents(t *testing.T) {
	w := newWorld(t)
	id := w.sent()
	for _, header := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
		if a := w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/cancel", as: "helper", header: map[string]string{header: "GET"}}); a.status != 403 {
			t.Errorf("%s: %d", header, a.status)
		}
		a := w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "asker", header: map[string]string{header: "DELETE", "X-Original-URL": "/v1/keys", "X-Rewrite-URL": "/v1/keys"}})
		if w.object(a)["state"] != "submitted" {
			t.Errorf("%s: %s", header, a.body)
		}
	}
	is := w.asker.ID.String()
	for _, name := range []string{
		"@@asker", "asker@", "@", "asker,helper", "asker, helper", " asker", "asker ", "asker\x00", "asker\n", "a\u200bsker", "\uff41sker", "аsker",
		"as\u212aer", "a\u017fker", "asker-", "{" + is + "}", "urn:uuid:" + is, strings.ReplaceAll(is, "-", ""), is + " ", "@" + is, "as%6ber%00",
		"../asker", "asker/../helper", "asker/", "asker?x", "asker#", "asker;x=1",
	} {
		if a := w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "member", body: `{"target_handle":"helper","message":"x"}`, header: map[string]string{"X-Act-As-Identity": name}}); a.status != 400 {
			t.Errorf("X-Act-As-Identity: %q: %d %s", name, a.status, a.body)
		}
		e := request{method: "GET", path: "/v1/identities/NAME/a2a/tasks"}.event(w.key["member"])
		e.PathParameters["agent"] = name
		if a := w.invoke("list-tasks", e); a.status != 404 {
			t.Errorf("the path's agent %q: %d %s", name, a.status, a.body)
		}
	}
	for _, name := range []string{"@asker", "ASKER", is, strings.ToUpper(is)} {
		if a := w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "member", header: map[string]string{"X-Act-As-Identity": name}}); a.status != 200 {
			t.Errorf("X-Act-As-Identity: %q: %d %s", name, a.status, a.body)
		}
	}
}

// serve hands an event to the function that serves the request.
func (w *world) serve(r request, e events.APIGatewayProxyRequest) reply {
	w.Helper()
	if r.body != "" {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(r.body)), true
	}
	for _, route := range httpapi.Routes {
		if route.Method == r.method && route.Path == e.Resource {
			return w.invoke(route.Endpoint, e)
		}
	}
	w.Fatalf("no route for %s %s", r.method, r.path)
	return reply{}
}
