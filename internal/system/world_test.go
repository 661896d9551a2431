package system

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/client"
	"baton/internal/demo"
	"baton/internal/localaws"
	"baton/internal/localstack"
	"baton/internal/store"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The tests share one world, in which each makes the agents that it needs. Its clients never repeat a call, so that
// nothing is hidden that a repetition would mend.
var shared struct {
	once  sync.Once
	world demo.World
	err   error
}

func world(t *testing.T) demo.World {
	t.Helper()
	stack := localaws.Stack(t)
	shared.once.Do(func() {
		shared.world, shared.err = demo.Make(context.Background(), stack, client.WithRetries(0), client.WithHTTPClient(wire))
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.world
}

// wire keeps as many connections as there are calls at once.
var wire = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: 60 * time.Second}

// pair makes a requester in one organization and a worker that it may send to in the other.
func pair(t *testing.T) (requester, worker demo.Agent) {
	t.Helper()
	w := world(t)
	return agent(t, w.Shop, false), agent(t, w.Bank, true)
}

func agent(t *testing.T, o demo.Organization, discoverable bool) demo.Agent {
	t.Helper()
	a, err := world(t).Agent(t.Context(), o, "a-"+strings.ToLower(rand.Text()[:16]), discoverable,
		client.WithRetries(0), client.WithHTTPClient(wire))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// newTask sends a task.
func newTask(t *testing.T, from, to demo.Agent, text string) client.Task {
	t.Helper()
	sent, err := from.Client.Send(t.Context(), client.Send{To: to.Handle, Draft: client.Draft{Message: text}})
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

func read(t *testing.T, a demo.Agent, id string) client.Task {
	t.Helper()
	got, err := a.Client.Task(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// history is the whole of a task's messages.
func history(t *testing.T, a demo.Agent, id string) (all []client.Message) {
	t.Helper()
	for m, err := range a.Client.Messages(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// answer is what came over the wire.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call makes a request exactly as given. body is sent as it is when it is a string or bytes, and as JSON otherwise;
// headers are pairs of name and value.
func call(t testing.TB, key, method, path string, body any, headers ...string) answer {
	t.Helper()
	a, err := try(t, key, method, path, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func try(t testing.TB, key, method, path string, body any, headers ...string) (answer, error) {
	t.Helper()
	var raw []byte
	switch b := body.(type) {
	case nil:
	case string:
		raw = []byte(b)
	case []byte:
		raw = b
	default:
		var err error
		if raw, err = json.Marshal(b); err != nil {
			return answer{}, err
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), method, localaws.Stack(t).APIURL+path, bytes.NewReader(raw))
	if err != nil {
		return answer{}, err
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if raw != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := wire.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, text}, err
}

// task decodes a single-task answer, with the version that its ETag tells.
func (a answer) task(t testing.TB) (got client.Task, version int) {
	t.Helper()
	if err := json.Unmarshal(a.body, &got); err != nil {
		t.Fatalf("status %d: %v: %s", a.status, err, a.body)
	}
	got.ETag = a.header.Get("ETag")
	version, err := strconv.Atoi(strings.Trim(got.ETag, `"`))
	if err != nil {
		t.Errorf("ETag %q is no version", got.ETag)
	}
	return got, version
}

// problem decodes a problem document, and sees that it is one.
func (a answer) problem(t testing.TB) (p client.Error) {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("status %d has the content type %q: %.300s", a.status, got, a.body)
	}
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Errorf("status %d: %v: %.300s", a.status, err, a.body)
	}
	if p.Status != a.status || p.Code == "" || p.Title == "" || p.Type == "" || p.RequestID == "" {
		t.Errorf("status %d: the problem document lacks something: %.300s", a.status, a.body)
	}
	return p
}

// at runs n functions at the same moment.
func at[T any](n int, do func(i int) T) []T {
	out := make([]T, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			out[i] = do(i)
		})
	}
	close(start)
	all.Wait()
	return out
}

// events are the types of the events that an organization's log has about a task, oldest first, once there are at
// least n; a moment later, so that a repeated one would be seen.
func events(t *testing.T, organization, taskID string, n int) (types []string) {
	t.Helper()
	stack := localaws.Stack(t)
	server, err := stack.Server()
	if err != nil {
		t.Fatal(err)
	}
	db := dynamodb.NewFromConfig(server.Config())
	log := store.NewLog(db, stack.Outputs["EventsTable"], nil, time.Now)
	owner, _ := task.ParseID(organization)
	about, _ := task.ParseID(taskID)
	look := func() {
		types = nil
		for after := int64(0); ; {
			page, err := log.Entries(t.Context(), owner, after, 100)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				return
			}
			for _, e := range page {
				if e.Task == about {
					types = append(types, string(e.Type))
				}
				after = e.Sequence
			}
		}
	}
	for deadline := time.Now().Add(30 * time.Second); len(types) < n && time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		look()
	}
	time.Sleep(500 * time.Millisecond)
	look()
	return types
}

func tree(t *testing.T) localstack.Tree {
	t.Helper()
	tree, err := localstack.FindTree()
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
