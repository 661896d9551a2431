package httpapi_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/internal/cursor"
	"baton/internal/directory"
	"baton/internal/httpapi"
	"baton/internal/localaws"
	"baton/internal/store"
	"baton/internal/task"
	"baton/internal/webhook"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// world is every task endpoint on the real engine, with two organizations in it:
//   - shop has the agents asker and helper, and keys of all roles;
//   - other has the agent stranger, whose organization is nobody's friend, and an admin's key.
type world struct {
	testing.TB
	handlers map[string]httpapi.Handler
	people   *directory.Service
	tasks    *task.Service
	edge     *httpapi.Edge

	directory   *store.Directory
	storedTasks *store.Tasks

	faults *localaws.Faults
	clock  *localaws.Clock
	log    *syncBuffer

	hooks *webhook.Service
	told  *store.Deliveries

	asker, helper, stranger directory.Identity
	key                     map[string]string // secrets by who holds them
}

type syncBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// take is what was written since the last time.
func (b *syncBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.Reset()
	return b.String()
}

// noBuses makes no bus: tasks need none.
type noBuses struct{}

func (noBuses) Create(_ context.Context, o directory.Organization) directory.Bus {
	return directory.Bus{Name: o.Bus.Name, Status: directory.BusPending}
}

func (noBuses) MakeBus(context.Context, task.ID) error { return directory.ErrNoBus }

func newWorld(t testing.TB) *world {
	t.Helper()
	config, faults := localaws.Config(t)
	db := store.NewClient(dynamodb.Options{
		Region: config.Region, BaseEndpoint: config.BaseEndpoint, Credentials: config.Credentials, HTTPClient: config.HTTPClient,
	})
	w := &world{TB: t, faults: faults, clock: &localaws.Clock{}, log: &syncBuffer{}, key: map[string]string{}}
	w.directory = store.NewDirectory(db, localaws.NewTable(t, "DirectoryTable"))
	w.storedTasks = store.NewTasks(db, localaws.NewTable(t, "TasksTable"))
	w.people = directory.NewService(w.directory, directory.Options{
		Mint: directory.NewMint("stamp"), Remember: 30 * time.Second, Now: w.clock.Now, Stage: "test", Buses: noBuses{},
	})
	w.tasks = task.NewService(w.storedTasks, w.clock.Now)
	edge := httpapi.NewEdge(httpapi.Options{
		Directory: w.people, Cursors: cursor.New("secret", w.clock.Now), Log: w.log, Now: w.clock.Now,
		Meter: func(ctx context.Context) (context.Context, func() (read, write float64, calls int)) {
			ctx, usage := store.WithUsage(ctx)
			return ctx, usage.Total
		},
	})
	w.edge = edge
	w.handlers = map[string]httpapi.Handler{
		"send-task":      httpapi.SendTask(edge, w.people, w.tasks),
		"read-task":      httpapi.ReadTask(edge, w.people, w.tasks),
		"list-tasks":     httpapi.ListTasks(edge, w.tasks),
		"add-message":    httpapi.AddMessage(edge, w.tasks),
		"list-messages":  httpapi.ListMessages(edge, w.tasks),
		"reply-task":     httpapi.ReplyTask(edge, w.tasks),
		"cancel-task":    httpapi.CancelTask(edge, w.people, w.tasks),
		"set-task-state": httpapi.SetTaskState(edge, w.tasks),
		"refuse-route":   httpapi.RefuseRoute(edge),
		"claim-task":     httpapi.ClaimTask(edge, w.tasks),

		"search-messages": httpapi.SearchMessages(edge, w.tasks),
		"list-contexts":   httpapi.ListContexts(edge, w.tasks),
		"read-context":    httpapi.ReadContext(edge, w.tasks),

		"manage-organizations": httpapi.ManageOrganizations(edge, w.people),
		"manage-identities":    httpapi.ManageIdentities(edge, w.people),
		"manage-keys":          httpapi.ManageKeys(edge, w.people),
		"manage-connections":   httpapi.ManageConnections(edge, w.people),
		"manage-access":        httpapi.ManageAccess(edge, w.people),
		"discover-agents":      httpapi.DiscoverAgents(edge, w.people),
	}
	w.serveWebhooks(edge)
	shop, other := w.organization("shop"), w.organization("other")
	w.key["admin"], w.key["foreign admin"] = shop.Secret, other.Secret
	for _, role := range []directory.Role{directory.Member, directory.Viewer} {
		w.key[string(role)] = w.newKey(shop.Secret, directory.NewKeyRequest{Role: role})
	}
	w.asker = w.agent("asker", shop.Secret)
	w.helper = w.agent("helper", shop.Secret)
	w.agent("bystander", shop.Secret)
	w.stranger = w.agent("stranger", other.Secret)
	operator, err := w.people.CreateOperatorKey(t.Context())
	w.must(err)
	w.key["operator"] = operator
	w.log.take()
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) in(secret string) directory.Principal {
	w.Helper()
	p, err := w.people.Authenticate(w.Context(), secret)
	w.must(err)
	return p
}

func (w *world) organization(name string) directory.NewOrganization {
	w.Helper()
	o, err := w.people.CreateOrganization(w.Context(), directory.Principal{Kind: directory.Operator}, directory.OrganizationEdit{Name: &name})
	w.must(err)
	return o
}

func (w *world) newKey(admin string, r directory.NewKeyRequest) string {
	w.Helper()
	_, secret, err := w.people.CreateKey(w.Context(), w.in(admin), r)
	w.must(err)
	return secret
}

// agent makes an identity, and a key of it by its handle.
func (w *world) agent(handle, admin string) directory.Identity {
	w.Helper()
	i, err := w.people.CreateIdentity(w.Context(), w.in(admin), directory.IdentityEdit{Handle: &handle})
	w.must(err)
	w.key[handle] = w.newKey(admin, directory.NewKeyRequest{Identity: handle})
	return i
}

// request is an HTTP request as a test means it.
type request struct {
	method, path string // path with its query
	as           string // whose key, "" for none
	body         string
	header       map[string]string
}

// reply is an answer as a client gets it.
type reply struct {
	status int
	header map[string]string
	body   string
}

// event is the request as API Gateway hands it to a function, with the body in base64 as for binary media types.
func (r request) event(secret string) events.APIGatewayProxyRequest {
	path, query, _ := strings.Cut(r.path, "?")
	resource, parameters := match(r.method, path)
	e := events.APIGatewayProxyRequest{
		Resource: resource, Path: path, HTTPMethod: r.method, PathParameters: parameters,
		Headers: map[string]string{}, RequestContext: events.APIGatewayProxyRequestContext{RequestID: "request-1"},
	}
	if secret != "" {
		e.Headers["Authorization"] = "Bearer " + secret
	}
	if r.body != "" {
		e.Headers["Content-Type"] = "application/json"
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(r.body)), true
	}
	for name, value := range r.header {
		if value == "-" {
			delete(e.Headers, name)
			continue
		}
		e.Headers[name] = value
	}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		if e.MultiValueQueryStringParameters == nil {
			e.QueryStringParameters, e.MultiValueQueryStringParameters = map[string]string{}, map[string][]string{}
		}
		e.QueryStringParameters[name] = unescape(value)
		e.MultiValueQueryStringParameters[name] = append(e.MultiValueQueryStringParameters[name], unescape(value))
	}
	return e
}

// match finds the route as the gateway does: a literal step before a parameter.
func match(method, path string) (resource string, parameters map[string]string) {
	steps, best := strings.Split(path, "/"), -1
	for _, route := range httpapi.Routes {
		pattern := strings.Split(route.Path, "/")
		if route.Method != method || len(pattern) != len(steps) {
			continue
		}
		literal, found := 0, map[string]string{}
		for i, step := range pattern {
			switch {
			case step == steps[i]:
				literal++
			case strings.HasPrefix(step, "{"):
				found[strings.Trim(step, "{}")] = steps[i]
			default:
				found = nil
			}
			if found == nil {
				break
			}
		}
		if found != nil && literal > best {
			best, resource, parameters = literal, route.Path, found
		}
	}
	return resource, parameters
}

// do sends a request to the function that serves it.
func (w *world) do(r request) reply {
	w.Helper()
	e := r.event(w.key[r.as])
	for _, route := range httpapi.Routes {
		if route.Method == r.method && route.Path == e.Resource {
			a := w.invoke(route.Endpoint, e)
			w.agrees(route, a)
			return a
		}
	}
	return w.invoke("refuse-route", e)
}

func (w *world) invoke(function string, e events.APIGatewayProxyRequest) reply {
	w.Helper()
	serve, ok := w.handlers[function]
	if !ok {
		w.Fatalf("no function %s", function)
	}
	a, err := serve(w.Context(), e)
	if err != nil {
		w.Fatalf("%s %s: a handler returned an error: %v", e.HTTPMethod, e.Path, err)
	}
	if text, err := json.Marshal(a); err != nil || len(text) > 6_291_456 {
		w.Errorf("%s %s: Lambda takes no answer of %d bytes: %v", e.HTTPMethod, e.Path, len(text), err)
	}
	body := a.Body
	if a.IsBase64Encoded && e.Headers["Accept"] != "" { // as the gateway does
		plain, err := base64.StdEncoding.DecodeString(body)
		w.must(err)
		body = string(plain)
	}
	return reply{a.StatusCode, a.Headers, body}
}

// problem is what a refusal says.
type problem struct {
	Type, Title, Detail, Code string
	Status                    int
	RequestID                 string `json:"request_id"`
	Errors                    []struct{ Field, Message string }
}

// problem reads a refusal, and fails when it is none, or not a whole one.
func (w *world) problem(r reply) problem {
	w.Helper()
	var p problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		w.Fatalf("no problem document: %v: %d %.300s", err, r.status, r.body)
	}
	if p.Status != r.status || r.status < 400 || p.Code == "" || p.Type == "" || p.Title == "" || p.Detail == "" || p.RequestID == "" ||
		r.header["Content-Type"] != "application/problem+json" || (r.status == 400) != (len(p.Errors) > 0) {
		w.Fatalf("not a whole problem document: %v %+v", r.header, p)
	}
	return p
}

// refused is status and code of a refusal, such as "409 a2a.task_terminal", or "ok" with the status of a success.
func (w *world) outcome(r reply) string {
	w.Helper()
	if r.status < 300 {
		return "ok"
	}
	return strings.TrimPrefix(w.problem(r).Code, "a2a.")
}

// object reads the answer of a success.
func (w *world) object(r reply) map[string]any {
	w.Helper()
	if r.status >= 300 {
		w.Fatalf("%d %.500s", r.status, r.body)
	}
	var o map[string]any
	if err := json.Unmarshal([]byte(r.body), &o); err != nil {
		w.Fatalf("%v: %.500s", err, r.body)
	}
	return o
}

// sent is the id of a new task from asker to helper.
func (w *world) sent() string {
	w.Helper()
	return w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","message":"Refund order 4182"}`}))["id"].(string)
}

func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s)
	return strings.TrimSpace(b.String())
}
