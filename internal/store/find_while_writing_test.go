package store_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"baton/internal/localaws"
	"baton/internal/store"
	"baton/internal/store/storetest"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// lagging is an index that is behind its table: half of its answers are those of up to a second ago.
type lagging struct {
	mu   sync.Mutex
	said map[string]saying
}

type saying struct {
	at   time.Time
	body []byte
}

func (l *lagging) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	ask := func() (*http.Response, error) {
		req.Body = io.NopCloser(bytes.NewReader(body))
		return http.DefaultTransport.RoundTrip(req)
	}
	if !bytes.Contains(body, []byte(`"IndexName"`)) {
		return ask()
	}
	key := question(body)
	l.mu.Lock()
	said, known := l.said[key]
	l.mu.Unlock()
	if !known || time.Since(said.at) > time.Second || rand.IntN(2) == 0 {
		res, err := ask()
		if err != nil {
			return nil, err
		}
		said = saying{time.Now(), nil}
		said.body, err = io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		l.said[key] = said
		l.mu.Unlock()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(bytes.NewReader(said.body)), ContentLength: int64(len(said.body)),
	}, nil
}

// walking is how long others write while lists are walked over: go test ./internal/store -run Paging -walking=2m -v
var walking = flag.Duration("walking", 5*time.Second, "how long to walk over lists while others write")

// still is what nobody writes to while others page: one task in five has a word that is looked for, and one in a hundred
// another.
type still struct {
	tasks, rare, seldom, messages, contexts []task.ID
	pages                                   atomic.Int32
}

// TestPagingWhileOthersWrite walks over tasks, messages and contexts while others write as fast as they can: what stood
// still is there once, in its order.
func TestPagingWhileOthersWrite(t *testing.T) {
	config, _ := localaws.Config(t)
	options := dynamodb.Options{
		Region: config.Region, BaseEndpoint: config.BaseEndpoint, Credentials: config.Credentials, HTTPClient: config.HTTPClient,
	}
	table := localaws.NewTable(t, "TasksTable")
	writer := store.NewClient(options)
	options.HTTPClient = &http.Client{Transport: &lagging{said: map[string]saying{}}}
	tasks := store.NewTasks(store.NewClient(options), table)
	tasks.AllowUnits(3)

	from := task.Caller{Party: task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: "asker"}}
	to := task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: "doer"}
	seeder := storetest.NewSeeder(writer, table, time.Now().Add(-time.Hour))
	var is still
	var moving []task.View
	for i := range 100 {
		seeder.Now = seeder.Now.Add(time.Second)
		what := "usual"
		if i%5 == 0 {
			what = "rare"
		}
		if i == 51 {
			what = "seldom"
		}
		v, _, err := seeder.Send(t.Context(), task.Send{From: from, To: to, Message: text(what)})
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 2 {
			moving = append(moving, v)
			continue
		}
		if i%2 == 0 {
			edit := task.Edit{Task: v.ID, Viewer: task.Viewer{Identity: to.Identity}, Minimal: true}
			if _, err := seeder.Reply(t.Context(), edit, task.Complete, task.ID{}, text(what)); err != nil {
				t.Fatal(err)
			}
			is.messages = append(is.messages, v.ID)
		}
		is.tasks, is.messages, is.contexts = append(is.tasks, v.ID), append(is.messages, v.ID), append(is.contexts, v.Context)
		if what == "rare" {
			is.rare = append(is.rare, v.ID)
		}
		if what == "seldom" {
			is.seldom = append(is.seldom, v.ID)
		}
	}
	if err := seeder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}

	service := task.NewService(store.NewTasks(writer, table), time.Now)
	stop := make(chan struct{})
	var changes atomic.Int32
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				v := moving[rand.IntN(len(moving))]
				edit := task.Edit{Task: v.ID, Viewer: task.Viewer{Identity: to.Identity}, Minimal: true}
				intent := []task.Intent{task.Progress, task.AskCaller}[rand.IntN(2)]
				if _, err := service.Reply(t.Context(), edit, intent, task.ID{}, text(fmt.Sprint("usual or rare ", n))); err != nil {
					t.Error(err)
					return
				}
				changes.Add(1)
			}
		})
	}
	end := time.Now().Add(*walking)
	var walks sync.WaitGroup
	for _, walk := range []func() error{
		func() error { return is.walkTasks(t, tasks, to.Identity, "", is.tasks) },
		func() error { return is.walkTasks(t, tasks, to.Identity, "RARE", is.rare) },
		func() error { return is.walkTasks(t, tasks, to.Identity, "seldom", is.seldom) },
		func() error { return is.walkMessages(t, tasks, to.Identity) },
		func() error { return is.walkContexts(t, tasks, to.Identity) },
	} {
		walks.Go(func() {
			for n := 0; time.Now().Before(end) || n == 0; n++ {
				if err := walk(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	walks.Wait()
	close(stop)
	all.Wait()
	t.Logf("%d pages while %d changes were made", is.pages.Load(), changes.Load())
}

func (is *still) walkTasks(t *testing.T, tasks *store.Tasks, identity task.ID, text string, want []task.ID) error {
	var seen []task.ID
	for q := (task.Query{Identity: identity, Direction: task.Inbound, Text: text, Limit: 1 + rand.IntN(9)}); ; {
		page, err := tasks.List(t.Context(), q)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			seen = append(seen, item.ID)
		}
		is.pages.Add(1)
		if q.After = page.Next; q.After == nil {
			return compare("tasks", seen, want)
		}
	}
}

func (is *still) walkMessages(t *testing.T, tasks *store.Tasks, identity task.ID) error {
	var seen []task.ID
	for q := (task.MessageQuery{Identity: identity, Direction: task.Both, Limit: 1 + rand.IntN(20)}); ; {
		page, err := tasks.SearchMessages(t.Context(), q)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			seen = append(seen, item.Of.ID)
		}
		is.pages.Add(1)
		if q.After = page.Next; q.After == nil {
			return compare("messages", seen, is.messages)
		}
	}
}

func (is *still) walkContexts(t *testing.T, tasks *store.Tasks, identity task.ID) error {
	var seen []task.ID
	for q := (task.ContextQuery{Identity: identity, Limit: 1 + rand.IntN(9)}); ; {
		page, err := tasks.Contexts(t.Context(), q)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			seen = append(seen, item.ID)
		}
		is.pages.Add(1)
		if q.After = page.Next; q.After == nil {
			return compare("contexts", seen, is.contexts)
		}
	}
}

// compare says whether what was seen, newest first, has all that stood still, oldest first, once and in order.
func compare(what string, seen, want []task.ID) error {
	wanted := map[task.ID]bool{}
	for _, id := range want {
		wanted[id] = true
	}
	left := len(want)
	for _, id := range seen {
		switch {
		case !wanted[id]:
		case left == 0 || want[left-1] != id:
			return fmt.Errorf("%s: %s is out of order or shown twice", what, id)
		default:
			left--
		}
	}
	if left > 0 {
		return fmt.Errorf("%s: %d that stood still were skipped", what, left)
	}
	return nil
}

// TestWalkGoesOnFromWhatIsGone takes away, after each page, the task that the page ended with: by a change, which moves it
// to the top, or from the table, as a purge does. What is left is shown once.
func TestWalkGoesOnFromWhatIsGone(t *testing.T) {
	config, _ := localaws.Config(t)
	client := store.NewClient(dynamodb.Options{
		Region: config.Region, BaseEndpoint: config.BaseEndpoint, Credentials: config.Credentials, HTTPClient: config.HTTPClient,
	})
	tasks := store.NewTasks(client, localaws.NewTable(t, "TasksTable"))
	service := task.NewService(tasks, time.Now)
	from := task.Caller{Party: task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: "asker"}}
	to := task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: "doer"}
	var want []task.ID
	for range 12 {
		v, _, err := service.Send(t.Context(), task.Send{From: from, To: to, Message: text("usual")})
		if err != nil {
			t.Fatal(err)
		}
		want = append([]task.ID{v.ID}, want...)
	}
	var got []task.ID
	for q := (task.Query{Identity: to.Identity, Direction: task.Inbound, Text: "usual", Limit: 2}); ; {
		page, err := tasks.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			got = append(got, item.ID)
		}
		if q.After = page.Next; q.After == nil {
			break
		}
		last := page.Items[len(page.Items)-1]
		if len(got)%4 == 0 {
			err = tasks.Erase(t.Context(), last)
		} else {
			edit := task.Edit{Task: last.ID, Viewer: task.Viewer{Identity: to.Identity}, Minimal: true}
			_, err = service.Reply(t.Context(), edit, task.Complete, task.ID{}, text("done"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d tasks, want %d\n%v\n%v", len(got), len(want), got, want)
	}
}
