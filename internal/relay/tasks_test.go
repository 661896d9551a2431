package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"baton/internal/localaws"
	"baton/internal/relay"
	"baton/internal/store"
	"baton/internal/store/storetest"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// realTasks makes the world's relay one of tasks in a real table.
func (w *world) realTasks() (*dynamodb.Client, string, *store.Tasks) {
	w.Helper()
	config, _ := localaws.Config(w.T)
	db := dynamodb.NewFromConfig(config)
	table := localaws.NewTable(w.T, "TasksTable")
	tasks := store.NewTasks(db, table)
	w.log = store.NewLog(db, localaws.NewTable(w.T, "EventsTable"), tasks, time.Now)
	w.relay = relay.New(w.log, relay.NewBuses(w.buses, w.prefix), tasks, w.book, nil, relay.NewFailureQueue(w.queues, w.failed))
	return db, table, tasks
}

// What the table's stream carries is what the relay reads: real tasks, from the service to the bus.
func TestTasksAreTold(t *testing.T) {
	w := newWorld(t)
	db, table, tasks := w.realTasks()
	requester := task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: "asker"}
	worker := task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: "doer"}
	asking, doing := w.listen(requester.Organization), w.listen(worker.Organization)
	service := task.NewService(tasks, time.Now)
	say := func(text string) task.Draft { return task.Draft{Parts: []task.Part{{Text: &text}}} }
	long := strings.Repeat("日本", 131_000) // over an item's limit, were it not compressed
	v, _, err := service.Send(t.Context(), task.Send{From: task.Caller{Party: requester}, To: worker, Message: say(long)})
	if err != nil {
		t.Fatal(err)
	}
	edit := func(p task.Party) task.Edit {
		return task.Edit{Task: v.ID, Viewer: task.Viewer{Identity: p.Identity, Organization: p.Organization}}
	}
	random := noise(700_000) // over an item's limit, compressed or not
	for _, write := range []func() (task.View, error){
		func() (task.View, error) {
			return service.Reply(t.Context(), edit(worker), task.AskCaller, task.ID{}, say("how much?"))
		},
		func() (task.View, error) { return service.AddMessage(t.Context(), edit(requester), say("12.50")) },
		func() (task.View, error) {
			d := say("done")
			d.Parts = append(d.Parts, task.Part{Data: []byte(`"` + random[:240_000] + `"`)}, task.Part{Data: []byte(`"` + random[240_000:480_000] + `"`)}, task.Part{Data: []byte(`"` + random[480_000:] + `"`)})
			return service.Reply(t.Context(), edit(worker), task.Complete, task.ID{}, d)
		},
	} {
		if _, err := write(); err != nil {
			t.Fatal(err)
		}
	}

	records := storetest.Stream(t, db, table)
	if len(records) != 4 {
		t.Fatalf("%d changes, want 4", len(records))
	}
	if again := w.deliver(records...); again != nil {
		t.Fatalf("%v must come again", again)
	}
	if failed := w.drain(w.failed); failed != nil {
		t.Fatalf("failed: %v", failed)
	}
	var told []string
	for _, e := range append(w.entries(requester.Organization), w.entries(worker.Organization)...) {
		told = append(told, string(e.Type)+":"+string(e.State))
	}
	const want = "a2a.sent_task.updated:input_required a2a.sent_task.updated:working a2a.sent_task.updated:completed " +
		"a2a.task.created:submitted a2a.task.message:working"
	if got := strings.Join(told, " "); got != want {
		t.Errorf("told %s\nwant %s", got, want)
	}
	if n := len(asking.hear()) + len(doing.hear()); n != 5 {
		t.Errorf("heard %d events, want 5", n)
	}
	for _, h := range asking.got {
		if h.Detail.Version == 4 && (*h.Detail.Payload.Message != "done" || *h.Detail.Payload.Result != "done") {
			t.Errorf("heard %+v", h)
		}
	}
	page, _, _, err := task.NewEvents(w.log, time.Now).Page(t.Context(), task.EventQuery{Organization: worker.Organization}, task.Position{AsOf: time.Now()}, 10)
	if err != nil || len(page) != 2 || page[0].Message.Text != long {
		t.Errorf("read %d events, %v", len(page), err)
	}
}

func TestRedriveFromTheQueue(t *testing.T) {
	w := newWorld(t)
	db, table, tasks := w.realTasks()
	service := task.NewService(tasks, time.Now)
	party := task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: "both"}
	w.listen(party.Organization)
	text := "x"
	send := func() task.ID {
		v, _, err := service.Send(t.Context(), task.Send{
			From: task.Caller{Party: party}, To: party, Message: task.Draft{Parts: []task.Part{{Text: &text}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return v.ID
	}
	first := send()
	queue := relay.NewFailureQueue(w.queues, w.failed)
	if err := queue.Put(t.Context(), relay.Failure{Task: first, Number: 1, Record: "7", Reason: "made by the test"}); err != nil {
		t.Fatal(err)
	}
	var seen []relay.Failure
	look := func() []relay.Failure {
		seen = nil
		if err := queue.Look(t.Context(), func(f relay.Failure) { seen = append(seen, f) }); err != nil {
			t.Fatal(err)
		}
		return seen
	}
	for range 2 { // a look takes nothing away
		if got := look(); len(got) != 1 || got[0].Task != first || got[0].Number != 1 {
			t.Fatalf("looked at %v", got)
		}
	}
	redrive := func() error {
		return queue.Redrive(t.Context(), func(ctx context.Context, f relay.Failure) error {
			return w.relay.RedriveFailure(ctx, f, relay.ChangesIn(db, table))
		})
	}
	if err := redrive(); err != nil {
		t.Fatal(err)
	}
	if n := len(w.entries(party.Organization)); n != 1 || len(look()) != 0 {
		t.Errorf("%d entries, want 1, and %v in the queue", n, seen)
	}

	// What Lambda says of a batch that was not told in time.
	send()
	now := time.Now().UTC().Format(time.RFC3339)
	body := `{"version":"1.0","requestContext":{"condition":"MaximumRecordAgeExceeded"},"DDBStreamBatchInfo":{"shardId":"s",` +
		`"startSequenceNumber":"1","endSequenceNumber":"2","approximateArrivalOfFirstRecord":"` + now + `",` +
		`"approximateArrivalOfLastRecord":"` + now + `","batchSize":2,"streamArn":"a"}}`
	if _, err := w.queues.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &w.failed, MessageBody: &body}); err != nil {
		t.Fatal(err)
	}
	if err := redrive(); err != nil {
		t.Fatal(err)
	}
	if n := len(w.entries(party.Organization)); n != 2 || len(look()) != 0 {
		t.Errorf("%d entries, want 2, and %v in the queue", n, seen)
	}

	// What fails again stays.
	if err := queue.Put(t.Context(), relay.Failure{Task: task.NewID(), Number: 1}); err != nil {
		t.Fatal(err)
	}
	if err := redrive(); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
}

// noise is text that doesn't compress to much less.
func noise(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(task.NewID().String())
	}
	return b.String()[:n]
}

func TestSampleEvent(t *testing.T) {
	w := newWorld(t)
	w.realTasks()
	text, err := os.ReadFile("../../events/relay-events.json")
	if err != nil {
		t.Fatal(err)
	}
	var batch events.DynamoDBEvent
	if err := json.Unmarshal(text, &batch); err != nil {
		t.Fatal(err)
	}
	if again := w.deliver(batch.Records...); again != nil || w.drain(w.failed) != nil {
		t.Fatal("the sample is not told")
	}
	organization, _ := task.ParseID("5c2d8a10-7f43-4e0b-8d21-0a9b6c3e7f55")
	if logged := w.entries(organization); len(logged) != 1 || logged[0].Message.Text != "Please refund order 4182" {
		t.Errorf("logged %+v", logged)
	}
}
