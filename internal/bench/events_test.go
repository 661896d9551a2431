package bench

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"baton/internal/localaws"
	"baton/internal/localstack"
	"baton/internal/relay"
	"baton/internal/store"
	"baton/internal/store/storetest"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Events is what it takes to tell of changes.
type Events struct {
	WriteUnits      float64 `json:"write_units_per_event"` // of a full batch
	PerSecond       float64 `json:"relayed_per_second"`    // by one relay in this process
	ReadUnitsWaited float64 `json:"read_units_per_waiting_minute,omitempty"`
	Worker          Chain   `json:"commit_to_worker_start"`
}

// Chain is the time from a commit to the start of the worker, against that of a bare table, stream, bus and function in
// the same run; medians.
type Chain struct {
	Milliseconds float64 `json:"ms,omitempty"`
	Bare         float64 `json:"bare_ms,omitempty"`
	Ratio        float64 `json:"ratio,omitempty"`
}

func TestRelay(t *testing.T) {
	config, faults := localaws.Config(t)
	db := dynamodb.NewFromConfig(config)
	tables := localaws.NewTables(t)
	tasks := store.NewTasks(db, tables.Tasks)
	log := store.NewLog(db, tables.Events, tasks, time.Now)
	prefix := localaws.Unique("bench") + "-"
	buses := eventbridge.NewFromConfig(config)
	r := relay.New(log, relay.NewBuses(buses, prefix), tasks, store.NewDirectory(db, tables.Directory), nil,
		relay.NewFailureQueue(sqs.NewFromConfig(config), "none"))

	organization := task.NewID()
	bus := prefix + organization.String()
	if _, err := buses.CreateEventBus(t.Context(), &eventbridge.CreateEventBusInput{Name: &bus}); err != nil {
		t.Fatal(err)
	}
	batches := 3
	if thorough() {
		batches = 30
	}
	party := task.Party{Identity: task.NewID(), Organization: organization, Handle: "agent-with-a-handle-of-32-letters"[:32]}
	service, text := task.NewService(tasks, time.Now), "Please refund order 4182, the customer sent it back."
	for range batches * store.MaxAppend {
		if _, _, err := service.Send(t.Context(), task.Send{
			From: task.Caller{Party: party}, To: party, Message: task.Draft{Parts: []task.Part{{Text: &text}}}, Minimal: true,
		}); err != nil {
			t.Fatal(err)
		}
	}
	records := storetest.Stream(t, db, tables.Tasks)
	if len(records) != batches*store.MaxAppend {
		t.Fatalf("%d changes", len(records))
	}
	faults.Reset()
	began := time.Now()
	for batch := range slices.Chunk(records, store.MaxAppend) {
		response, err := r.Records(t.Context(), events.DynamoDBEvent{Records: batch})
		if err != nil || response.BatchItemFailures != nil {
			t.Fatal(response, err)
		}
	}
	took := time.Since(began)
	_, write := faults.Units()
	perEvent := write / float64(len(records))
	// 4 for each and 2 a batch; the first batch after a look at the bus has one more, for the index of logs to look at.
	if most := 4 + 3.0/store.MaxAppend; perEvent > most {
		t.Errorf("an event costs %.3f write units, at most %.3f is the budget", perEvent, most)
	}
	report.Events.WriteUnits, report.Events.PerSecond = perEvent, float64(len(records))/took.Seconds()

	if !thorough() {
		return
	}
	reader := task.NewEvents(log, time.Now)
	end, err := reader.End(t.Context(), organization)
	if err != nil {
		t.Fatal(err)
	}
	faults.Reset()
	if _, _, err := reader.Wait(t.Context(), task.EventQuery{Organization: organization}, end, 55*time.Second); err != nil {
		t.Fatal(err)
	}
	read, _ := faults.Units()
	report.Events.ReadUnitsWaited = read * 60 / 55
}

// Only make bench looks at the whole chain: it says little on a busy machine.
func TestCommitToWorkerStart(t *testing.T) {
	if !thorough() {
		t.Log("part of make bench alone")
		return
	}
	stack := localaws.Stack(t)
	server, err := stack.Server()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := localstack.FindTree()
	if err != nil {
		t.Fatal(err)
	}
	config := server.Config()
	organization := task.NewID()
	bus := stack.Outputs["BusPrefix"] + organization.String()
	if _, err := eventbridge.NewFromConfig(config).CreateEventBus(t.Context(), &eventbridge.CreateEventBusInput{Name: &bus}); err != nil {
		t.Fatal(err)
	}
	arrivals := newArrivals(t)
	functions, err := tree.Build(t.Context(), t.TempDir(), "./internal/bench/chain/...")
	if err != nil {
		t.Fatal(err)
	}
	name := localaws.Unique("chain")
	out, err := tree.Deploy(t.Context(), server, localstack.Application{
		Stack: name, Template: "internal/bench/chain/template.yaml",
		Parameters: map[string]string{"EventBusName": bus, "ReportUrl": arrivals.url},
	}, functions)
	if err != nil {
		t.Fatal(err)
	}

	db := dynamodb.NewFromConfig(config)
	service := task.NewService(store.NewTasks(db, stack.Outputs["TasksTable"]), time.Now)
	party := task.Party{Identity: task.NewID(), Organization: organization, Handle: "agent"}
	text := "Please refund order 4182."
	whole := func() (committed time.Time, id string) {
		v, _, err := service.Send(t.Context(), task.Send{
			From: task.Caller{Party: party}, To: party, Message: task.Draft{Parts: []task.Part{{Text: &text}}}, Minimal: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return time.Now(), v.ID.String()
	}
	table := out["Table"]
	bare := func() (committed time.Time, id string) {
		id = task.NewID().String()
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberS{Value: id},
		}}); err != nil {
			t.Fatal(err)
		}
		return time.Now(), id
	}
	const rounds, warm = 41, 5
	var ours, theirs []time.Duration
	for i := range rounds + warm {
		a, b := arrivals.after(whole()), arrivals.after(bare())
		if i >= warm {
			ours, theirs = append(ours, a), append(theirs, b)
		}
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	c := Chain{Milliseconds: float64(ours[rounds/2].Microseconds()) / 1000, Bare: float64(theirs[rounds/2].Microseconds()) / 1000}
	c.Ratio = c.Milliseconds / c.Bare
	report.Events.Worker = c
}

// arrivals is where the workers say that they started.
type arrivals struct {
	t    *testing.T
	url  string
	mu   sync.Mutex
	came map[string]time.Time
	news chan struct{}
}

func newArrivals(t *testing.T) *arrivals {
	a := &arrivals{t: t, came: map[string]time.Time{}, news: make(chan struct{}, 1)}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		at := time.Now()
		var detail struct {
			ID string `json:"aggregate_id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&detail)
		a.mu.Lock()
		a.came[detail.ID] = at
		a.mu.Unlock()
		select {
		case a.news <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// after is how long after its commit a worker started.
func (a *arrivals) after(committed time.Time, id string) time.Duration {
	a.t.Helper()
	for deadline := time.After(20 * time.Second); ; {
		a.mu.Lock()
		at, there := a.came[id]
		a.mu.Unlock()
		if there {
			return at.Sub(committed)
		}
		select {
		case <-a.news:
		case <-deadline:
			a.t.Fatalf("no worker started for %s", id)
		}
	}
}
