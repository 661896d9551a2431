package client_test

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"baton/client"

	"go.yaml.in/yaml/v3"
)

// otherWays are routes of endpoints that the client reaches by their first route, and what it doesn't talk at all.
var otherWays = []struct{ prefix, reason string }{
	{"/v1/identities/{agent}/a2a/tasks", "ActAs says whose"},
	{"/v1/identities/{agent}/a2a/sent/", "ActAs says whose"},
	{"/v1/identities/{agent}/a2a/messages", "ActAs says whose"},
	{"/v1/identities/{agent}/a2a/contexts", "ActAs says whose"},
	{"/v1/agents/{callee}/", "Send.To says to whom"},
	{"/a2a/", "clients of the protocol A2A talk it"},
}

// The client covers every route of the OpenAPI document, but for deprecated ones and other ways to the same.
func TestEveryRouteHasAMethod(t *testing.T) {
	text, err := os.ReadFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	called := everyCall(t)
	found := 0
	for path, operations := range document.Paths {
		if slices.ContainsFunc(otherWays, func(w struct{ prefix, reason string }) bool { return strings.HasPrefix(path, w.prefix) }) {
			continue
		}
		for method, node := range operations {
			var operation struct{ Deprecated bool }
			if method == "parameters" || node.Decode(&operation) != nil || operation.Deprecated {
				continue
			}
			found++
			route := strings.ToUpper(method) + " " + path
			if !slices.ContainsFunc(called, func(call string) bool { return matches(route, call) }) {
				t.Errorf("no method of the client calls %s", route)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d routes found", found)
	}
}

// matches says whether a call such as "GET /v1/keys/x" is of a route such as "GET /v1/keys/{id}". The segments that stand
// for parameters are all "x".
func matches(route, call string) bool {
	a, b := strings.Split(route, "/"), strings.Split(call, "/")
	return slices.EqualFunc(a, b, func(a, b string) bool { return a == b || strings.HasPrefix(a, "{") && b == "x" })
}

// everyCall makes every call that the client has, once, and returns what a server saw.
func everyCall(t *testing.T) (seen []string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.Path)
		if strings.HasSuffix(r.URL.Path, "/stream") {
			w.WriteHeader(http.StatusForbidden)
		}
		io.WriteString(w, `{"state":"completed","type":"end"}`)
	}))
	defer s.Close()
	c := client.New(s.URL, key)

	c.Send(ctx, client.Send{To: "x", Draft: client.Draft{Message: "hi"}})
	c.Task(ctx, "x")
	c.Wait(ctx, "x")
	c.Add(ctx, "x", client.Draft{Message: "hi"})
	c.Reply(ctx, "x", client.Reply{Intent: client.Progress})
	c.Renew(ctx, "x", "x")
	c.Cancel(ctx, "x")
	c.Claim(ctx, client.ClaimOptions{})
	walk(c.Tasks(ctx, client.TaskFilter{}))
	walk(c.Messages(ctx, "x"))
	walk(c.FindMessages(ctx, client.MessageFilter{}))
	walk(c.Conversations(ctx))
	c.Conversation(ctx, "x")

	c.CreateOrganization(ctx, client.NewOrganization{})
	c.Organization(ctx, "x")
	c.UpdateOrganization(ctx, "x", client.OrganizationPatch{})
	c.SuspendOrganization(ctx, "x")
	c.ResumeOrganization(ctx, "x")
	c.PurgeOrganization(ctx, "x")
	walk(c.Export(ctx, "x"))
	c.Replay(ctx, "x", 1, 2)
	c.CreateIdentity(ctx, client.IdentityFields{})
	c.Identity(ctx, "x")
	walk(c.Identities(ctx))
	c.UpdateIdentity(ctx, "x", client.IdentityFields{})
	c.DeleteIdentity(ctx, "x")
	c.CreateKey(ctx, client.NewKey{})
	walk(c.Keys(ctx))
	c.RevokeKey(ctx, "x")

	c.Connect(ctx, "x", "")
	walk(c.Connections(ctx, "", ""))
	c.ApproveConnection(ctx, "x")
	c.DeclineConnection(ctx, "x")
	c.RevokeConnection(ctx, "x")
	c.Access(ctx, "x")
	c.SetAccess(ctx, "x", nil)
	walk(c.Discover(ctx, ""))

	c.EventPage(ctx, client.EventFilter{})
	c.WaitEvent(ctx, client.EventFilter{}, 0)
	walk(c.Stream(ctx, client.EventFilter{}))
	c.CreateWebhook(ctx, client.WebhookFields{})
	c.Webhook(ctx, "x")
	walk(c.Webhooks(ctx))
	c.UpdateWebhook(ctx, "x", client.WebhookFields{})
	c.RotateWebhookSecret(ctx, "x")
	c.DeleteWebhook(ctx, "x")
	walk(c.Deliveries(ctx, "x"))
	c.Redeliver(ctx, "x", "x")
	return seen
}

func walk[T any](all iter.Seq2[T, error]) {
	for range all {
	}
}
