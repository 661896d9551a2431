package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// world is the functions' handlers, wired as the functions wire them, on tables of their own.
type world struct {
	testing.TB
	tables   localaws.Tables
	config   aws.Config
	tasks    *task.Service
	handlers map[string]httpapi.Handler
	faults   *localaws.Faults // which count what goes through them
	from, to agent
	log      *bytes.Buffer // of the latest request
	patient  bool          // pages end by what they read, not by how long this engine takes
	answered int           // bytes of its answer
}

type agent struct {
	directory.Identity
	key string
}

func newWorld(t testing.TB) *world {
	config, faults := localaws.Config(t)
	w := &world{TB: t, tables: localaws.NewTables(t), config: config, faults: faults, log: &bytes.Buffer{}}
	people := w.wire(config.HTTPClient)
	operator := directory.Principal{Kind: directory.Operator}
	ctx := t.Context()
	// Handles of the longest there are, on both sides.
	for i, a := range []*agent{&w.from, &w.to} {
		name, on := fmt.Sprint("Organization ", i), true
		o, err := people.CreateOrganization(ctx, operator, directory.OrganizationEdit{Name: &name, Verified: &on})
		if err != nil {
			t.Fatal(err)
		}
		admin, err := people.Authenticate(ctx, o.Secret)
		if err != nil {
			t.Fatal(err)
		}
		handle := localaws.Unique("agent") // agent-0123456789
		handle += strings.Repeat("x", 32-len(handle))
		if a.Identity, err = people.CreateIdentity(ctx, admin, directory.IdentityEdit{Handle: &handle, A2AEnabled: &on, Discoverable: &on}); err != nil {
			t.Fatal(err)
		}
		if _, a.key, err = people.CreateKey(ctx, admin, directory.NewKeyRequest{Identity: handle}); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range []agent{w.from, w.to} { // from now on the keys are known
		w.do("list-tasks", a.key, "GET", "/v1/a2a/tasks/search", "", nil)
	}
	return w
}

// roomForBuses is an account in which every bus is there.
type roomForBuses struct{}

func (roomForBuses) Create(_ context.Context, o directory.Organization) directory.Bus {
	return directory.Bus{Name: o.Bus.Name, Status: directory.BusActive}
}

// wire makes the handlers on a DynamoDB behind the HTTP client.
func (w *world) wire(client aws.HTTPClient) *directory.Service {
	db := store.NewClient(dynamodb.Options{
		Region: w.config.Region, Credentials: w.config.Credentials, BaseEndpoint: w.config.BaseEndpoint, HTTPClient: client,
	})
	people := directory.NewService(store.NewDirectory(db, w.tables.Directory), directory.Options{
		Mint: directory.NewMint("stamp"), Remember: time.Hour, Now: time.Now, Stage: "bench", Buses: roomForBuses{},
	})
	tasks := store.NewTasks(db, w.tables.Tasks)
	if w.patient {
		tasks.Allow(time.Hour, store.PageUnits)
	}
	w.tasks = task.NewService(tasks, time.Now)
	gate := directory.Gate{Service: people, Limiter: directory.NewLimiter(store.NewDirectory(db, w.tables.Directory), tasks, directory.Limits{
		SendsPerMinute: 1_000_000, SendsPerSecond: 100_000, OpenTasksAtMost: 1_000_000,
	}, time.Now)}
	edge := httpapi.NewEdge(httpapi.Options{
		Directory: people, Cursors: cursor.New("secret", time.Now), Log: w.log, Now: time.Now,
		Meter: func(ctx context.Context) (context.Context, func() (float64, float64, int)) {
			ctx, usage := store.WithUsage(ctx)
			return ctx, usage.Total
		},
	})
	w.handlers = map[string]httpapi.Handler{
		"send-task":   httpapi.SendTask(edge, gate, w.tasks),
		"read-task":   httpapi.ReadTask(edge, people, w.tasks),
		"list-tasks":  httpapi.ListTasks(edge, w.tasks),
		"add-message": httpapi.AddMessage(edge, w.tasks),
		"reply-task":  httpapi.ReplyTask(edge, w.tasks),
		"cancel-task": httpapi.CancelTask(edge, people, w.tasks),
	}
	return people
}

// request is one as the gateway gives it to a function; path is that of the route table.
func request(key, method, path, id string, body any) events.APIGatewayProxyRequest {
	r := events.APIGatewayProxyRequest{
		HTTPMethod: method, Headers: map[string]string{"Authorization": "Bearer " + key, "Content-Type": "application/json"},
		RequestContext: events.APIGatewayProxyRequestContext{RequestID: "7c9e6679-7425-40de-944b-e07fc1f90ae7"},
	}
	r.Resource, _, _ = strings.Cut(path, "?")
	if _, query, there := strings.Cut(path, "?"); there {
		r.QueryStringParameters = map[string]string{}
		for pair := range strings.SplitSeq(query, "&") {
			name, value, _ := strings.Cut(pair, "=")
			r.QueryStringParameters[name] = value
		}
	}
	if id != "" {
		r.PathParameters = map[string]string{"id": id}
	}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		r.Body = string(text)
	}
	return r
}

// do makes a request that must succeed, and returns what it costs and the id of the task that it answers.
func (w *world) do(endpoint, key, method, path, id string, body any, headers ...string) (Cost, string) {
	w.Helper()
	r := request(key, method, path, id, body)
	for i := 0; i < len(headers); i += 2 {
		r.Headers[headers[i]] = headers[i+1]
	}
	return w.serve(endpoint, r)
}

func (w *world) serve(endpoint string, r events.APIGatewayProxyRequest) (Cost, string) {
	w.Helper()
	c, body := w.answer(endpoint, r)
	var t struct{ ID string }
	json.Unmarshal([]byte(body), &t)
	return c, t.ID
}

// answer makes a request that must succeed.
func (w *world) answer(endpoint string, r events.APIGatewayProxyRequest) (c Cost, body string) {
	w.Helper()
	w.faults.Reset()
	w.log.Reset()
	a, err := w.handlers[endpoint](w.Context(), r)
	if err != nil || a.StatusCode > 299 {
		w.Fatalf("%s: %v, %d %s\n%s", endpoint, err, a.StatusCode, a.Body, w.log)
	}
	w.answered = len(a.Body)
	c.ReadUnits, c.WriteUnits = w.faults.Units()
	c.RoundTrips = w.faults.Count("")
	return c, a.Body
}

// say is the body of a message.
func say(text, messageID string) map[string]any {
	body := map[string]any{"message": text}
	if messageID != "" {
		body["message_id"] = messageID
	}
	return body
}

func (w *world) send(text, messageID string) (Cost, string) {
	w.Helper()
	body := say(text, messageID)
	body["target_handle"] = w.to.Handle
	return w.do("send-task", w.from.key, "POST", "/v1/a2a/tasks", "", body)
}

func (w *world) add(id, text, messageID string, headers ...string) Cost {
	w.Helper()
	c, _ := w.do("add-message", w.from.key, "POST", "/v1/a2a/tasks/{id}/messages", id, say(text, messageID), headers...)
	return c
}

func (w *world) reply(id, intent, text, messageID string, headers ...string) Cost {
	w.Helper()
	body := say(text, messageID)
	body["intent"] = intent
	c, _ := w.do("reply-task", w.to.key, "POST", "/v1/a2a/tasks/{id}/reply", id, body, headers...)
	return c
}

func (w *world) cancel(id string) Cost {
	w.Helper()
	c, _ := w.do("cancel-task", w.from.key, "POST", "/v1/a2a/tasks/{id}/cancel", id, nil)
	return c
}

func (w *world) read(id string) Cost {
	w.Helper()
	c, _ := w.do("read-task", w.from.key, "GET", "/v1/a2a/tasks/{id}", id, nil)
	return c
}

func (w *world) list(query string) Cost {
	w.Helper()
	c, _ := w.do("list-tasks", w.to.key, "GET", "/v1/a2a/tasks/search"+query, "", nil)
	return c
}

// page is a page of a search, and the cursor of the next one.
func (w *world) page(query string) (c Cost, next string) {
	w.Helper()
	c, body := w.answer("list-tasks", request(w.to.key, "GET", "/v1/a2a/tasks/search"+query, "", nil))
	var page struct {
		Next string `json:"next_cursor"`
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		w.Fatal(err)
	}
	return c, page.Next
}

// tape is an HTTP client that notes a DynamoDB's answers, and later gives them at once: for the very same request, or
// else for one of its operation.
type tape struct {
	next    aws.HTTPClient
	playing bool
	mu      sync.Mutex
	answers map[question][]byte
}

// question tells requests apart, but not by the order of their fields, which the SDK writes at random; the zero sums
// stand for any of the operation.
type question struct {
	operation    string
	sum, squares int
}

func asked(operation string, body []byte) question {
	q := question{operation: operation}
	for _, b := range body {
		q.sum += int(b)
		q.squares += int(b) * int(b)
	}
	return q
}

func (p *tape) Do(r *http.Request) (*http.Response, error) {
	operation := r.Header.Get("X-Amz-Target")
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body.Close()
	exact, whichever := asked(operation, sent), question{operation: operation}
	if !p.playing {
		r.Body = io.NopCloser(bytes.NewReader(sent))
		res, err := p.next.Do(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		p.mu.Lock()
		p.answers[exact], p.answers[whichever] = body, body
		p.mu.Unlock()
		res.Body = io.NopCloser(bytes.NewReader(body))
		return res, err
	}
	p.mu.Lock()
	body, there := p.answers[exact]
	if !there {
		body, there = p.answers[whichever]
	}
	p.mu.Unlock()
	if !there {
		return nil, fmt.Errorf("bench: %s was not asked before", operation)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}
