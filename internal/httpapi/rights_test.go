package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"baton/internal/directory"
	"baton/internal/httpapi"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
)

// callers are the columns of the table: who calls, and as which agent an organization's key acts where a route leaves
// that open. "own" is the agent whose route it is: the worker of the task where the route is the worker's.
var callers = []struct {
	name  string
	actAs string // "own" for the agent whose route it is
}{
	{"own", ""}, {"colleague", ""}, {"foreign agent", ""}, {"admin", "own"}, {"member", "own"}, {"viewer", "own"},
	{"foreign admin", "stranger"}, {"operator", ""}, {"revoked", ""}, {"none", ""},
}

// row is what each caller gets by a route, and how the route is called.
type row struct {
	own  string // the agent whose route it is, where it isn't asker
	want string // a status for each of callers
	body string
}

// routeTable says for every route who may use it: contract section 1, the table and what stands around it. A route without a row
// fails the test.
//
//	own coll fore  adm  mem view  fad  oper  rev none
var routeTable = map[string]row{
	"POST /v1/organizations/{id}/purge":                        {want: "403 403 404 202 403 403 404 202 401 401"},
	"POST /v1/organizations/{id}/export":                       {want: "403 403 404 200 403 403 404 200 401 401"},
	"GET /v1/a2a/messages":                                     {want: "200 200 200 200 200 200 200 403 401 401"},
	"GET /v1/identities/{agent}/a2a/messages":                  {want: "200 403 404 200 200 200 404 404 401 401"},
	"GET /v1/a2a/contexts":                                     {want: "200 200 200 200 200 200 200 403 401 401"},
	"GET /v1/identities/{agent}/a2a/contexts":                  {want: "200 403 404 200 200 200 404 404 401 401"},
	"GET /v1/a2a/contexts/{id}":                                {want: "200 404 404 200 200 200 404 404 401 401"},
	"GET /v1/identities/{agent}/a2a/contexts/{id}":             {want: "200 403 404 200 200 200 404 404 401 401"},
	"POST /v1/a2a/tasks/claim":                                 {own: "helper", want: "200 200 200 200 200 403 200 403 401 401", body: `{}`},
	"POST /v1/identities/{agent}/a2a/tasks/claim":              {own: "helper", want: "200 403 404 200 200 403 404 404 401 401", body: `{}`},
	"GET /v1/events":                                           {want: "200 200 200 200 200 200 200 403 401 401"},
	"GET /v1/events/wait":                                      {want: "200 200 200 200 200 200 200 403 401 401"},
	"GET /v1/events/stream":                                    {want: "200 200 200 200 200 200 200 403 401 401"},
	"POST /v1/organizations/{id}/replay":                       {want: "403 403 404 200 403 403 404 200 401 401", body: `{"from_sequence":1,"to_sequence":1}`},
	"POST /v1/a2a/tasks":                                       {want: "201 201 403 201 201 403 403 403 401 401", body: `{"target_handle":"helper","message":"hi"}`},
	"POST /v1/identities/{agent}/a2a/tasks":                    {want: "201 403 404 201 201 403 404 404 401 401", body: `{"target_handle":"helper","message":"hi"}`},
	"POST /v1/identities/{agent}/a2a/sent/tasks":               {want: "201 403 404 201 201 403 404 404 401 401", body: `{"target_handle":"helper","message":"hi"}`},
	"POST /v1/agents/{callee}/tasks":                           {want: "201 201 403 201 201 403 403 403 401 401", body: `{"message":"hi"}`},
	"GET /v1/a2a/tasks/{id}":                                   {want: "200 404 404 200 200 200 404 404 401 401"},
	"GET /v1/identities/{agent}/a2a/tasks/{id}":                {own: "helper", want: "200 403 404 200 200 200 404 404 401 401"},
	"GET /v1/identities/{agent}/a2a/sent/tasks/{id}":           {want: "200 403 404 200 200 200 404 404 401 401"},
	"GET /v1/agents/{callee}/tasks/{id}":                       {want: "200 404 404 200 200 200 404 404 401 401"},
	"GET /v1/a2a/tasks/search":                                 {want: "200 200 200 200 200 200 200 403 401 401"},
	"GET /v1/identities/{agent}/a2a/tasks":                     {want: "200 403 404 200 200 200 404 404 401 401"},
	"GET /v1/identities/{agent}/a2a/sent/tasks":                {want: "200 403 404 200 200 200 404 404 401 401"},
	"GET /v1/a2a/tasks":                                        {want: "200 200 200 200 200 200 200 403 401 401"},
	"POST /v1/a2a/tasks/{id}/messages":                         {want: "200 404 404 200 200 403 404 403 401 401", body: `{"message":"more"}`},
	"POST /v1/identities/{agent}/a2a/sent/tasks/{id}/messages": {want: "200 403 404 200 200 403 404 404 401 401", body: `{"message":"more"}`},
	"GET /v1/a2a/tasks/{id}/messages":                          {want: "200 404 404 200 200 200 404 404 401 401"},
	"GET /v1/identities/{agent}/a2a/tasks/{id}/messages":       {own: "helper", want: "200 403 404 200 200 200 404 404 401 401"},
	"GET /v1/identities/{agent}/a2a/sent/tasks/{id}/messages":  {want: "200 403 404 200 200 200 404 404 401 401"},
	"POST /v1/a2a/tasks/{id}/reply":                            {own: "helper", want: "200 404 404 200 200 403 404 403 401 401", body: `{"intent":"progress","message":"on it"}`},
	"POST /v1/identities/{agent}/a2a/tasks/{id}/reply":         {own: "helper", want: "200 403 404 200 200 403 404 404 401 401", body: `{"intent":"progress","message":"on it"}`},
	"POST /v1/a2a/tasks/{id}/cancel":                           {want: "200 404 404 200 200 403 404 403 401 401"},
	"POST /v1/identities/{agent}/a2a/sent/tasks/{id}/cancel":   {want: "200 403 404 200 200 403 404 404 401 401"},
	"POST /v1/agents/{callee}/tasks/{id}/cancel":               {want: "200 404 404 200 200 403 404 403 401 401"},
	"PATCH /v1/a2a/tasks/{id}":                                 {own: "helper", want: "200 404 404 200 200 403 404 403 401 401", body: `{"state":"working"}`},
	"POST /v1/organizations":                                   {want: "403 403 403 403 403 403 403 201 401 401", body: `{"name":"New"}`},
	"GET /v1/organizations/{id}":                               {want: "403 403 404 200 200 200 404 200 401 401"},
	"PATCH /v1/organizations/{id}":                             {want: "403 403 404 200 403 403 404 200 401 401", body: `{"legacy_events":true}`},
	"POST /v1/organizations/{id}/suspend":                      {want: "403 403 404 403 403 403 404 200 401 401"},
	"POST /v1/organizations/{id}/resume":                       {want: "403 403 404 403 403 403 404 200 401 401"},
	"POST /v1/identities":                                      {want: "403 403 403 201 403 403 201 403 401 401", body: `{"handle":"UNIQUE"}`},
	"GET /v1/identities":                                       {want: "200 200 200 200 200 200 200 403 401 401"},
	"GET /v1/identities/{agent}":                               {want: "200 403 404 200 200 200 404 404 401 401"},
	"PATCH /v1/identities/{agent}":                             {want: "200 403 404 200 403 403 404 404 401 401", body: `{"description":"x"}`},
	"DELETE /v1/identities/{agent}":                            {want: "403 403 404 204 403 403 404 404 401 401"},
	"POST /v1/keys":                                            {want: "403 403 403 201 403 403 201 403 401 401", body: `{"role":"viewer"}`},
	"GET /v1/keys":                                             {want: "403 403 403 200 200 403 200 403 401 401"},
	"DELETE /v1/keys/{id}":                                     {want: "403 403 403 204 403 403 404 403 401 401"},
	"POST /v1/a2a/connections":                                 {want: "201 201 201 201 201 403 200 403 401 401", body: `{"target_handle":"helper"}`},
	"GET /v1/a2a/connections":                                  {want: "200 200 200 200 200 200 200 403 401 401"},
	"POST /v1/a2a/connections/{id}/approve":                    {want: "200 404 404 200 200 403 404 403 401 401"},
	"POST /v1/a2a/connections/{id}/decline":                    {want: "200 404 404 200 200 403 404 403 401 401"},
	"POST /v1/a2a/connections/{id}/revoke":                     {want: "200 404 404 200 200 403 404 403 401 401"},
	"GET /v1/identities/{agent}/a2a/access":                    {want: "200 403 404 200 200 200 404 404 401 401"},
	"PUT /v1/identities/{agent}/a2a/access":                    {want: "200 403 404 200 200 403 404 404 401 401", body: `{"rules":[]}`},
	"POST /v1/webhooks":                                        {want: "403 403 403 201 403 403 201 403 401 401", body: `{"url":"https://8.8.8.8/","events":["a2a.task.created"]}`},
	"GET /v1/webhooks":                                         {want: "403 403 403 200 200 200 200 403 401 401"},
	"GET /v1/webhooks/{id}":                                    {want: "403 403 403 200 200 200 404 403 401 401"},
	"PATCH /v1/webhooks/{id}":                                  {want: "403 403 403 200 403 403 404 403 401 401", body: `{"enabled":false}`},
	"DELETE /v1/webhooks/{id}":                                 {want: "403 403 403 204 403 403 404 403 401 401"},
	"POST /v1/webhooks/{id}/rotate-secret":                     {want: "403 403 403 200 403 403 404 403 401 401"},
	"GET /v1/webhooks/{id}/deliveries":                         {want: "403 403 403 200 200 200 404 403 401 401"},
	"POST /v1/webhooks/{id}/deliveries/{delivery}/redeliver":   {want: "403 403 403 202 403 403 404 403 401 401"},
	"GET /v1/discover":                                         {want: "200 200 200 200 200 200 200 200 401 401"},
}

func TestRouteByCaller(t *testing.T) {
	w := everyRoute(t)
	w.key["own"], w.key["colleague"], w.key["foreign agent"] = w.key["asker"], w.key["bystander"], w.key["stranger"]
	revoked, secret, err := w.people.CreateKey(t.Context(), w.in(w.key["admin"]), directory.NewKeyRequest{Role: directory.Admin})
	w.must(err)
	w.must(w.people.RevokeKey(t.Context(), w.in(w.key["admin"]), revoked.KeyID.String()))
	w.key["revoked"], w.key["none"] = secret, ""

	for n, route := range httpapi.Routes {
		name := route.Method + " " + route.Path
		r, ok := routeTable[name]
		if !ok {
			t.Errorf("%s has no row", name)
		}
		if r.own == "" {
			r.own = "asker"
		}
		w.key["own"] = w.key[r.own]
		var got []string
		for _, c := range callers {
			fixture := w.fixture(route, r, fmt.Sprintf("x%d-%s", n, strings.ReplaceAll(c.name, " ", "-")))
			q := request{method: route.Method, path: fixture.path, as: c.name, body: fixture.body, header: map[string]string{}}
			if actAs := c.actAs; actAs != "" && !strings.Contains(route.Path, "{agent}") {
				if actAs == "own" {
					actAs = r.own
				}
				q.header["X-Act-As-Identity"] = actAs
			}
			got = append(got, fmt.Sprint(w.do(q).status))
			w.restore(w.in(w.key["admin"]).Organization)
		}
		if line := strings.Join(got, " "); line != strings.Join(strings.Fields(r.want), " ") {
			t.Errorf("%s:\n  got  %s\n  want %s", name, line, r.want)
		}
	}
	for name := range routeTable {
		found := false
		for _, route := range httpapi.Routes {
			found = found || name == route.Method+" "+route.Path
		}
		if !found {
			t.Errorf("the row %s is of no route", name)
		}
	}
}

// everyRoute is a world with every function in it; those that wait for events don't.
func everyRoute(t testing.TB) *world {
	w := newEventsWorld(t)
	w.handlers["export-organization"] = httpapi.ExportOrganization(w.edge, w.people,
		directory.NewExporter(w.directory, w.storedTasks, w.logs, w.told.Of(w.directory)))
	w.handlers["stream-events"] = func(ctx context.Context, r events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		ctx, end := context.WithCancel(ctx)
		defer end()
		a, err := w.stream(ctx, r)
		if err != nil {
			return events.APIGatewayProxyResponse{}, err
		}
		s := a.(*events.APIGatewayProxyStreamingResponse)
		body := []byte("a stream")
		if s.StatusCode != http.StatusOK {
			body, err = io.ReadAll(s.Body)
		}
		end()
		io.Copy(io.Discard, s.Body)
		return events.APIGatewayProxyResponse{StatusCode: s.StatusCode, Headers: s.Headers, Body: string(body)}, err
	}
	wait := w.handlers["wait-events"]
	w.handlers["wait-events"] = func(ctx context.Context, r events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		query := map[string][]string{"timeout_ms": {"0"}}
		for name, value := range r.MultiValueQueryStringParameters {
			query[name] = value
		}
		r.QueryStringParameters, r.MultiValueQueryStringParameters = nil, query
		return wait(ctx, r)
	}
	return w.world
}

// restore takes back what suspends or purges an organization, before anybody looks at its keys again.
func (w *world) restore(organization task.ID) {
	w.Helper()
	was, err := w.directory.Organization(w.Context(), organization)
	w.must(err)
	if was.Suspended {
		now := was
		now.Suspended, now.Purging = false, false
		now.Version++
		w.must(w.directory.SaveOrganization(w.Context(), was, now))
	}
}

// fixture is a call of a route on things made for it.
type fixture struct{ path, body string }

// fixture makes what a route's call is about: a task that asker sent to helper, a connection, a key, a name.
func (w *world) fixture(route httpapi.Route, r row, unique string) fixture {
	w.Helper()
	f := fixture{path: route.Path, body: r.body}
	id := ""
	switch {
	case strings.HasPrefix(route.Path, "/v1/organizations/"):
		id = w.in(w.key["admin"]).Organization.String()
	case strings.HasPrefix(route.Path, "/v1/webhooks/"):
		mine := w.in(w.key["admin"]).Organization // which may have 50, and no more
		there, err := w.hooks.Hooks(w.Context(), mine)
		w.must(err)
		for _, old := range there {
			w.must(w.hooks.Delete(w.Context(), mine, old.ID))
		}
		h, d := w.toldHook()
		id = h.ID.String()
		f.path = strings.ReplaceAll(f.path, "{delivery}", d.ID.String())
	case strings.HasPrefix(route.Path, "/v1/keys/"):
		k, _, err := w.people.CreateKey(w.Context(), w.in(w.key["admin"]), directory.NewKeyRequest{Role: directory.Viewer})
		w.must(err)
		id = k.KeyID.String()
	case strings.HasPrefix(route.Path, "/v1/a2a/connections"):
		for {
			c, created, err := w.people.Connect(w.Context(), w.helper, directory.Ref{ID: w.asker.ID}, "")
			w.must(err)
			id = c.ID.String()
			if created && strings.Contains(route.Path, "{id}") {
				break
			}
			_, err = w.people.MoveConnection(w.Context(), w.helper, id, directory.Revoked)
			w.must(err)
			if created {
				break
			}
		}
	case strings.Contains(route.Path, "/contexts/"):
		id = w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + w.sent(), as: "asker"}))["context_id"].(string)
	case strings.Contains(route.Path, "{id}"):
		id = w.sent()
	}
	f.path = strings.NewReplacer("{id}", id, "{agent}", r.own, "{callee}", "helper").Replace(f.path)
	if strings.Contains(f.path, "/identities/") && route.Method == "DELETE" {
		handle := unique
		_, err := w.people.CreateIdentity(w.Context(), w.in(w.key["admin"]), directory.IdentityEdit{Handle: &handle})
		w.must(err)
		f.path = "/v1/identities/" + handle
	}
	f.body = strings.ReplaceAll(f.body, "UNIQUE", unique)
	return f
}
