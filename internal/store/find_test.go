package store_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"baton/internal/localaws"
	"baton/internal/search/searchtest"
	"baton/internal/store"
	"baton/internal/store/storetest"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// modelTask is a task as the plainest model of finding knows it.
type modelTask struct {
	task.Task
	messages []modelMessage
}

type modelMessage struct {
	task.Message
	text searchtest.Message
}

func (t modelTask) text() (all []searchtest.Message) {
	for _, m := range t.messages {
		all = append(all, m.text)
	}
	return all
}

// world is a table full of random tasks between a few agents, and the model of it.
type world struct {
	tasks  *store.Tasks
	agents []task.Party
	model  []*modelTask
	rand   *rand.Rand
	words  *searchtest.Generator
	times  []time.Time
}

// once answers a request that was made before with what the engine said then: nobody writes to a world any more.
type once struct {
	next http.RoundTripper
	mu   sync.Mutex
	said map[string][]byte
}

func (o *once) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	key := req.Header.Get("X-Amz-Target") + question(body)
	o.mu.Lock()
	said, known := o.said[key]
	o.mu.Unlock()
	if !known {
		req.Body = io.NopCloser(bytes.NewReader(body))
		res, err := o.next.RoundTrip(req)
		if err != nil || res.StatusCode != http.StatusOK {
			return res, err
		}
		said, err = io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return nil, err
		}
		o.mu.Lock()
		o.said[key] = said
		o.mu.Unlock()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(bytes.NewReader(said)), ContentLength: int64(len(said)),
	}, nil
}

// question is a request's body with its fields in order: the SDK writes them in any.
func question(body []byte) string {
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil {
		return string(body)
	}
	sorted, _ := json.Marshal(fields) // never fails: they were JSON
	return string(sorted)
}

// newClients are a client whose reads are answered once, and one that reads and writes.
func newClients(t testing.TB) (reader, writer *dynamodb.Client) {
	config, _ := localaws.Config(t)
	options := dynamodb.Options{
		Region: config.Region, BaseEndpoint: config.BaseEndpoint, Credentials: config.Credentials, HTTPClient: config.HTTPClient,
	}
	writer = store.NewClient(options)
	options.HTTPClient = &http.Client{Transport: &once{next: http.DefaultTransport, said: map[string][]byte{}}}
	return store.NewClient(options), writer
}

func newWorld(t testing.TB, seed uint64, tasks int) *world {
	t.Helper()
	reader, writer := newClients(t)
	table := localaws.NewTable(t, "TasksTable")
	w := &world{
		tasks: store.NewTasks(reader, table), rand: rand.New(rand.NewPCG(seed, 7)), words: searchtest.New(seed),
	}
	for i := range 3 {
		w.agents = append(w.agents, task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: fmt.Sprint("agent-", i)})
	}
	seeder := storetest.NewSeeder(writer, table, time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond))
	for range tasks {
		w.write(t, seeder, nil)
		for range w.rand.IntN(6) {
			w.write(t, seeder, w.model[w.rand.IntN(len(w.model))])
		}
	}
	w.writeLong(t, seeder)
	for range 3 {
		w.writeBusy(t, seeder)
	}
	if err := seeder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, m := range w.model {
		w.times = append(w.times, m.UpdatedAt, m.CreatedAt)
	}
	return w
}

func (w *world) party() task.Party {
	p := w.agents[w.rand.IntN(len(w.agents))]
	if w.rand.IntN(4) == 0 {
		p.Handle += "-old"
	}
	return p
}

// write makes a task, or a random change of one.
func (w *world) write(t testing.TB, s *storetest.Seeder, on *modelTask) {
	t.Helper()
	s.Now = s.Now.Add(time.Duration(w.rand.IntN(3)) * time.Millisecond)
	if on == nil {
		text := w.words.Message()
		send := task.Send{From: task.Caller{Party: w.party()}, To: w.party(), Message: draft(text)}
		for send.To.Identity == send.From.Identity {
			send.To = w.party()
		}
		if len(w.model) > 0 && w.rand.IntN(2) == 0 {
			other := w.model[w.rand.IntN(len(w.model))]
			send.Context, send.From, send.To = other.Context, other.Caller, other.Target
			if w.rand.IntN(2) == 0 {
				send.From.Party, send.To = send.To, send.From.Party
			}
		}
		v, _, err := s.Send(t.Context(), send)
		if err != nil {
			t.Fatal(err)
		}
		w.model = append(w.model, &modelTask{})
		w.model[len(w.model)-1].is(v, text, task.ByCaller, send.Message)
		return
	}
	if on.State.Terminal() {
		return
	}
	text := w.words.Message()
	d := draft(text)
	worker := task.Edit{Task: on.ID, Viewer: task.Viewer{Identity: on.Target.Identity}, Minimal: true}
	requester := task.Edit{Task: on.ID, Viewer: task.Viewer{Identity: on.Caller.Identity}, Minimal: true}
	var v task.View
	var err error
	switch role := task.ByAgent; w.rand.IntN(8) {
	case 0:
		v, err = s.Cancel(t.Context(), requester, "", false)
		on.Task = v.Task
	case 1:
		v, err = s.Set(t.Context(), worker, task.Working, task.Draft{})
		on.Task = v.Task
	case 2, 3:
		role = task.ByCaller
		v, err = s.AddMessage(t.Context(), requester, d)
		on.is(v, text, role, d)
	default:
		intent := []task.Intent{task.Progress, task.Progress, task.AskCaller, task.Complete, task.Fail}[w.rand.IntN(5)]
		v, err = s.Reply(t.Context(), worker, intent, task.ID{}, d)
		on.is(v, text, role, d)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// writeLong makes a task of which not all text counts: its last words lie behind the limit.
func (w *world) writeLong(t testing.TB, s *storetest.Seeder) {
	on := w.model[0]
	for on.State.Terminal() {
		on = w.model[w.rand.IntN(len(w.model))]
	}
	worker := task.Edit{Task: on.ID, Viewer: task.Viewer{Identity: on.Target.Identity}, Minimal: true}
	filler := bytes.Repeat([]byte("refund order "), 99_950/13)
	for _, text := range []string{string(filler), "4182 snake café 東京 wi-fi 41820 final Straße", "case refunds"} {
		m := searchtest.Message{{Text: text}}
		v, err := s.Reply(t.Context(), worker, task.Progress, task.ID{}, draft(m))
		if err != nil {
			t.Fatal(err)
		}
		on.is(v, m, task.ByAgent, draft(m))
	}
}

// writeBusy makes a task of so many messages that its words are archived, some time before the last ones.
func (w *world) writeBusy(t testing.TB, s *storetest.Seeder) {
	w.write(t, s, nil)
	on := w.model[len(w.model)-1]
	worker := task.Edit{Task: on.ID, Viewer: task.Viewer{Identity: on.Target.Identity}, Minimal: true}
	requester := task.Edit{Task: on.ID, Viewer: task.Viewer{Identity: on.Caller.Identity}, Minimal: true}
	for range 30 + w.rand.IntN(100) {
		s.Now = s.Now.Add(time.Duration(w.rand.IntN(3)) * time.Millisecond)
		text := w.words.Message()
		d := draft(text)
		v, by, err := task.View{}, task.ByCaller, error(nil)
		if w.rand.IntN(2) == 0 {
			v, err = s.AddMessage(t.Context(), requester, d)
		} else {
			by = task.ByAgent
			v, err = s.Reply(t.Context(), worker, task.Progress, task.ID{}, d)
		}
		if err != nil {
			t.Fatal(err)
		}
		on.is(v, text, by, d)
	}
}

func (m *modelTask) is(v task.View, text searchtest.Message, by task.Role, d task.Draft) {
	m.Task = v.Task
	m.messages = append(m.messages, modelMessage{task.Message{Role: by, CreatedAt: v.UpdatedAt, Parts: d.Parts}, text})
}

func draft(m searchtest.Message) (d task.Draft) {
	for _, p := range m {
		switch {
		case p.Data != "":
			d.Parts = append(d.Parts, task.Part{Data: []byte(p.Data)})
		case p.File != "":
			d.Parts = append(d.Parts, task.Part{File: &task.File{Name: p.File, URI: "https://example.com/"}})
		default:
			d.Parts = append(d.Parts, task.Part{Text: &p.Text})
		}
	}
	return d
}

// sometimes gives v in one of n cases, else the zero value.
func sometimes[T any](w *world, n int, v func() T) (zero T) {
	if w.rand.IntN(n) == 0 {
		return v()
	}
	return zero
}

func (w *world) time() time.Time { return w.times[w.rand.IntN(len(w.times))] }

func (w *world) limit() int { return []int{1, 4, 20, 100}[w.rand.IntN(4)] }

func (w *world) handle() string { return w.party().Handle }

func (w *world) some() *modelTask { return w.model[w.rand.IntN(len(w.model))] }

// query is a text to search for, that has a word, and how the model says it.
func (w *world) query() searchtest.Query {
	for {
		if q := w.words.Query(w.some().text()); q.HasWord() {
			return q
		}
	}
}

func isOn(t task.Task, identity task.ID, d task.Direction) bool {
	return d != task.Outbound && t.Target.Identity == identity || d != task.Inbound && t.Caller.Identity == identity
}

func later(at, bt time.Time, a, b task.ID) int {
	return cmp.Or(bt.Compare(at), bytes.Compare(b[:], a[:]))
}

func (w *world) checkList(t *testing.T) {
	var text searchtest.Query
	q := task.Query{
		Identity:     w.agents[w.rand.IntN(len(w.agents))].Identity,
		Direction:    []task.Direction{task.Inbound, task.Outbound, task.Both}[w.rand.IntN(3)],
		State:        sometimes(w, 2, func() task.State { return task.States[w.rand.IntN(len(task.States))] }),
		Requester:    sometimes(w, 8, w.handle),
		Worker:       sometimes(w, 8, w.handle),
		Context:      sometimes(w, 4, func() task.ID { return w.some().Context }),
		Since:        sometimes(w, 6, w.time),
		CreatedSince: sometimes(w, 6, w.time),
		Limit:        w.limit(),
	}
	if w.rand.IntN(3) > 0 {
		text = w.query()
		q.Text = text.String()
	}
	var want []task.ID
	all := slices.Clone(w.model)
	slices.SortFunc(all, func(a, b *modelTask) int { return later(a.UpdatedAt, b.UpdatedAt, a.ID, b.ID) })
	for _, m := range all {
		if isOn(m.Task, q.Identity, q.Direction) && (q.State == "" || q.State == m.State) &&
			(q.Requester == "" || q.Requester == m.Caller.Handle) && (q.Worker == "" || q.Worker == m.Target.Handle) &&
			(q.Context.IsZero() || q.Context == m.Context) && (q.Since.IsZero() || m.UpdatedAt.After(q.Since)) &&
			(q.CreatedSince.IsZero() || !m.CreatedAt.Before(q.CreatedSince)) && (text == nil || text.Finds(m.text(), 100_000)) {
			want = append(want, m.ID)
		}
	}
	var got []task.ID
	for asked := q; ; {
		page, err := w.tasks.List(t.Context(), asked)
		if err != nil {
			t.Fatalf("%+v: %v", asked, err)
		}
		for _, item := range page.Items {
			got = append(got, item.ID)
		}
		if len(page.Items) > q.Limit {
			t.Fatalf("%+v: a page of %d", q, len(page.Items))
		}
		if page.Next == nil {
			break
		}
		asked.After = page.Next
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%+v:\ngot  %v\nwant %v", q, got, want)
	}
}

func (w *world) checkMessages(t *testing.T) {
	var text searchtest.Query
	q := task.MessageQuery{
		Identity:  w.agents[w.rand.IntN(len(w.agents))].Identity,
		Direction: []task.Direction{task.Inbound, task.Outbound, task.Both}[w.rand.IntN(3)],
		Task:      sometimes(w, 6, func() task.ID { return w.some().ID }),
		Context:   sometimes(w, 4, func() task.ID { return w.some().Context }),
		Role:      sometimes(w, 4, func() task.Role { return []task.Role{task.ByAgent, task.ByCaller}[w.rand.IntN(2)] }),
		Requester: sometimes(w, 8, w.handle),
		Worker:    sometimes(w, 8, w.handle),
		Since:     sometimes(w, 6, w.time),
		Limit:     []int{5, 30, 100}[w.rand.IntN(3)],
	}
	if w.rand.IntN(3) > 0 {
		text = w.query()
		q.Text = text.String()
	}
	type place struct {
		at   time.Time
		task task.ID
	}
	var want []place
	for _, m := range w.model {
		if !isOn(m.Task, q.Identity, q.Direction) || !q.Task.IsZero() && q.Task != m.ID || !q.Context.IsZero() && q.Context != m.Context ||
			q.Requester != "" && q.Requester != m.Caller.Handle || q.Worker != "" && q.Worker != m.Target.Handle {
			continue
		}
		for _, message := range m.messages {
			if (q.Role == "" || q.Role == message.Role) && (q.Since.IsZero() || message.CreatedAt.After(q.Since)) &&
				(text == nil || text.Finds([]searchtest.Message{message.text}, 0)) {
				want = append(want, place{message.CreatedAt, m.ID})
			}
		}
	}
	slices.SortFunc(want, func(a, b place) int { return later(a.at, b.at, a.task, b.task) })
	var got []place
	for asked := q; ; {
		page, err := w.tasks.SearchMessages(t.Context(), asked)
		if err != nil {
			t.Fatalf("%+v: %v", asked, err)
		}
		for _, item := range page.Items {
			got = append(got, place{item.CreatedAt, item.Of.ID})
		}
		if len(page.Items) > q.Limit {
			t.Fatalf("%+v: a page of %d", q, len(page.Items))
		}
		if page.Next == nil {
			break
		}
		asked.After = page.Next
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%+v:\ngot  %v\nwant %v", q, got, want)
	}
}

func (w *world) checkContexts(t *testing.T) {
	identity := w.agents[w.rand.IntN(len(w.agents))].Identity
	sums := map[task.ID]task.Context{}
	newest := map[task.ID]task.ID{}
	byAge := slices.Clone(w.model)
	slices.SortFunc(byAge, func(a, b *modelTask) int { return later(b.CreatedAt, a.CreatedAt, b.ID, a.ID) })
	for _, m := range byAge {
		if !isOn(m.Task, identity, task.Both) {
			continue
		}
		c, known := sums[m.Context]
		if !known {
			c = task.Context{ID: m.Context, Participants: [2]task.Party{m.Caller.Party, m.Target}, CreatedAt: m.CreatedAt}
		}
		c.Tasks++
		if !m.State.Terminal() {
			c.OpenTasks++
		}
		if n := newest[m.Context]; later(m.UpdatedAt, c.UpdatedAt, m.ID, n) < 0 {
			c.UpdatedAt, newest[m.Context] = m.UpdatedAt, m.ID
		}
		sums[m.Context] = c
	}
	var want, got []task.Context
	for _, c := range sums {
		want = append(want, c)
	}
	slices.SortFunc(want, func(a, b task.Context) int { return later(a.UpdatedAt, b.UpdatedAt, newest[a.ID], newest[b.ID]) })
	for q := (task.ContextQuery{Identity: identity, Limit: w.limit()}); ; {
		page, err := w.tasks.Contexts(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page.Items...)
		if page.Next == nil {
			break
		}
		q.After = page.Next
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("contexts:\ngot  %v\nwant %v", got, want)
	}
	for _, c := range want {
		one, tasks, err := w.tasks.Context(t.Context(), c.ID, task.ID{})
		if err != nil || !reflect.DeepEqual(one, c) || len(tasks) != c.Tasks {
			t.Fatalf("context: got %v with %d tasks, %v; want %v", one, len(tasks), err, c)
		}
	}
}

// queries is how many random queries are asked in all: go test ./internal/store -run Model -queries=10000
var queries = flag.Int("queries", 2000, "how many random queries to ask")

// Random queries give what a brute-force model gives, in the same order.
func TestFindsWhatTheModelFinds(t *testing.T) {
	const worlds = 2
	for seed := range uint64(worlds) {
		t.Run(fmt.Sprint("world ", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed, 40)
			for i := range *queries / worlds {
				switch {
				case i%40 == 0:
					w.checkContexts(t)
				case i%2 == 0:
					w.checkList(t)
				default:
					w.checkMessages(t)
				}
			}
		})
	}
}
