package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"baton/internal/store"
	"baton/internal/store/storetest"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Search is what looking for a word takes that no task has.
type Search struct {
	Messages int `json:"messages"` // of each task
	// PerThousand are read units per 1,000 tasks scanned.
	PerThousand float64 `json:"read_units_per_1000"`
	// Archives are the tasks whose archive was read, for half a unit; Read those whose messages were, for nothing.
	Archives float64 `json:"archives_percent"`
	Read     float64 `json:"false_candidates_percent"`
}

// looking is an HTTP client that counts what a search looks into.
type looking struct {
	next     aws.HTTPClient
	mu       sync.Mutex
	archives int
	read     map[string]bool // tasks, by key
	now      int             // requests on their way
	rounds   int             // how often one began while there was none
}

func (l *looking) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	var asked struct {
		IndexName                 string
		ExpressionAttributeValues map[string]map[string]string
		RequestItems              map[string]struct{ Keys []any }
	}
	json.Unmarshal(body, &asked)
	l.mu.Lock()
	for _, keys := range asked.RequestItems {
		l.archives += len(keys.Keys)
	}
	if p := asked.ExpressionAttributeValues[":p"]["B"]; p != "" && asked.IndexName == "" {
		l.read[p] = true
	}
	if l.now++; l.now == 1 {
		l.rounds++
	}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.now--
	}()
	return l.next.Do(r)
}

// intents of the last replies: seven of ten tasks are completed.
var intents = []task.Intent{task.Progress, task.AskCaller, task.Fail, task.Complete}

// seed makes tasks of the agent, each of so many messages, by batches of writes.
func (w *world) seed(tasks, messages int, words *writer) {
	w.Helper()
	began := time.Now()
	db := store.NewClient(dynamodb.Options{
		Region: w.config.Region, Credentials: w.config.Credentials, BaseEndpoint: w.config.BaseEndpoint, HTTPClient: w.config.HTTPClient,
	})
	seeder := storetest.NewSeeder(db, w.tables.Tasks, time.Now().AddDate(0, -1, 0))
	say := func() task.Draft { text := words.message(); return task.Draft{Parts: []task.Part{{Text: &text}}} }
	var conversation task.ID
	for i := range tasks {
		seeder.Now = seeder.Now.Add(20 * time.Second)
		send := task.Send{From: w.from.Caller(), To: w.to.Party(), Message: say(), Context: conversation, Minimal: true}
		v, _, err := seeder.Send(w.Context(), send)
		if err != nil {
			w.Fatal(err)
		}
		conversation = v.Context
		for m := 1; m < messages; m++ {
			intent := task.Progress
			if m == messages-1 {
				intent = intents[min(i%10, len(intents)-1)]
			}
			edit := task.Edit{Task: v.ID, Viewer: task.Viewer{Identity: w.to.ID}, Minimal: true}
			if _, err := seeder.Reply(w.Context(), edit, intent, task.ID{}, say()); err != nil {
				w.Fatal(err)
			}
		}
		if i%task.MaxTasks == task.MaxTasks-1 {
			conversation = task.ID{}
			if i%(10*task.MaxTasks) == 10*task.MaxTasks-1 {
				if err := seeder.Flush(w.Context()); err != nil {
					w.Fatal(err)
				}
			}
		}
	}
	if err := seeder.Flush(w.Context()); err != nil {
		w.Fatal(err)
	}
	w.Logf("%d tasks of %d messages were stored in %v", tasks, messages, time.Since(began).Round(time.Second/10))
}

// search asks for every page, and returns what it took in all and how many pages there were.
func (w *world) search(query string) (all Cost, pages int) {
	w.Helper()
	path := "?limit=50&" + query
	for {
		c, next := w.page(path)
		all.ReadUnits += c.ReadUnits
		all.RoundTrips += c.RoundTrips
		pages++
		if next == "" {
			return all, pages
		}
		path = "?limit=50&" + query + "&cursor=" + next
	}
}

// A word that no task has is looked for at task lengths of 3, 20 and 200 messages: most tasks are told apart by what a list
// reads, nearly all others by their archive.
func TestSearchForAWordThatNoTaskHas(t *testing.T) {
	for _, row := range []struct {
		messages, tasks int
		units, read     float64 // at most
	}{{3, 1000, 150, 2}, {20, 1000, 150, 2}, {200, 100, 500, 2}} {
		times := 10
		if !thorough() { // what every query takes at least weighs more then
			row.tasks, times = row.tasks/10, 3
			row.units, row.read = 1000, 4
		}
		w := newWorld(t)
		w.seed(row.tasks, row.messages, newWriter(uint64(row.messages)))
		look := &looking{next: w.config.HTTPClient, read: map[string]bool{}}
		w.wire(look)
		w.list("?state=submitted") // the key is known then
		var all Cost
		archives, read := 0, 0
		for i := range times {
			look.archives, look.read = 0, map[string]bool{}
			c, _ := w.search(fmt.Sprintf("direction=inbound&q=nowhere%d", i))
			all.ReadUnits += c.ReadUnits
			archives += look.archives
			read += len(look.read)
		}
		scanned := float64(row.tasks * times)
		s := Search{row.messages, 1000 * all.ReadUnits / scanned, 100 * float64(archives) / scanned, 100 * float64(read) / scanned}
		report.Search = append(report.Search, s)
		t.Logf("%+v", s)
		if s.PerThousand > row.units || s.Read > row.read {
			t.Errorf("%+v, want at most %v read units and %v %% read for nothing", s, row.units, row.read)
		}
	}
}
