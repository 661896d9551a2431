package relay_test

import (
	"strings"
	"testing"
	"time"

	"baton/internal/localaws"
	"baton/internal/relay"
	"baton/internal/store"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// What the table's stream carries is what the relay reads: real tasks, from the service to the bus.
func TestTasksAreTold(t *testing.T) {
	w := newWorld(t)
	config, _ := localaws.Config(t)
	db := dynamodb.NewFromConfig(config)
	table := localaws.NewTable(t, "TasksTable")
	tasks := store.NewTasks(db, table)
	w.log = store.NewLog(db, localaws.NewTable(t, "EventsTable"), tasks, time.Now)
	w.relay = relay.New(w.log, relay.NewBuses(w.buses, w.prefix), tasks, w.book, nil, relay.NewFailureQueue(w.queues, w.failed))

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

	records := stream(t, db, table)
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

// noise is text that doesn't compress to much less.
func noise(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(task.NewID().String())
	}
	return b.String()[:n]
}

// stream is what a table's stream has of its inserts, as the template filters them.
func stream(t *testing.T, db *dynamodb.Client, table string) (records []events.DynamoDBEventRecord) {
	t.Helper()
	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			if _, change := item["e"]; !change {
				continue
			}
			image := map[string]events.DynamoDBAttributeValue{}
			for name, v := range item {
				switch v := v.(type) {
				case *types.AttributeValueMemberB:
					image[name] = events.NewBinaryAttribute(v.Value)
				case *types.AttributeValueMemberS:
					image[name] = events.NewStringAttribute(v.Value)
				default:
					t.Fatalf("attribute %s is a %T", name, v)
				}
			}
			keys := map[string]events.DynamoDBAttributeValue{"p": image["p"], "s": image["s"]}
			records = append(records, events.DynamoDBEventRecord{EventName: "INSERT", Change: events.DynamoDBStreamRecord{
				Keys: keys, NewImage: image, SequenceNumber: image["s"].String(),
			}})
		}
	}
	return records
}
