package relay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"baton/internal/localaws"
	"baton/internal/metrics"
	"baton/internal/relay"
	"baton/internal/store"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func TestMain(m *testing.M) {
	metrics.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	m.Run()
}

// world is a relay with real tables, buses and queues, and the faults between them.
type world struct {
	*testing.T
	*book
	faults *localaws.Faults
	buses  *eventbridge.Client
	queues *sqs.Client
	prefix string
	log    *store.Log
	relay  *relay.Relay
	unpark *relay.Unparker
	check  *relay.Checker
	failed string // URL of the failure queue
	clock  *localaws.Clock
}

func newWorld(t *testing.T) *world {
	t.Helper()
	config, faults := localaws.Config(t)
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	w := &world{
		T: t, book: &book{changes: map[string]task.Change{}}, faults: faults, clock: &localaws.Clock{},
		buses: eventbridge.NewFromConfig(config), queues: sqs.NewFromConfig(config),
		prefix: localaws.Unique("baton") + "-",
	}
	w.failed = w.queue(localaws.Unique("failed"))
	w.log = store.NewLog(dynamodb.NewFromConfig(config), localaws.NewTable(t, "EventsTable"), w.book, w.clock.Now)
	buses := relay.NewBuses(w.buses, w.prefix)
	w.relay = relay.New(w.log, buses, w.book, w.book, nil, relay.NewFailureQueue(w.queues, w.failed))
	w.unpark = relay.NewUnparker(w.log, buses, w, w.book)
	w.check = relay.NewChecker(w.log, buses, w.clock.Now)
	return w
}

// book holds the changes that the stream records name.
type book struct {
	mu      sync.Mutex
	changes map[string]task.Change
	old     bool // the organizations want the older type too
}

func (b *book) LegacyEvents(context.Context, task.ID) (bool, error) { return b.old, nil }

func key(id task.ID, number int) string { return fmt.Sprintf("%s/%06d", id, number) }

func (b *book) ParseChange(item map[string]types.AttributeValue) (task.Change, bool, error) {
	id, number, _ := b.ParseChangeKey(item)
	if _, poison := item["poison"]; poison {
		return task.Change{}, false, fmt.Errorf("made by the test")
	}
	c, err := b.Change(context.Background(), id, number)
	return c, true, err
}

func (b *book) ParseChangeKey(item map[string]types.AttributeValue) (id task.ID, number int, err error) {
	id = task.ID(item["p"].(*types.AttributeValueMemberB).Value)
	_, err = fmt.Sscanf(item["s"].(*types.AttributeValueMemberS).Value, "C#%d", &number)
	return id, number, err
}

func (b *book) Change(_ context.Context, id task.ID, number int) (task.Change, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.changes[key(id, number)]
	if !ok {
		return c, task.ErrNotFound
	}
	return c, nil
}

// queue makes a queue.
func (w *world) queue(name string) (url string) {
	w.Helper()
	out, err := w.queues.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		w.Fatal(err)
	}
	return *out.QueueUrl
}

// drain takes every message out of a queue, in no order.
func (w *world) drain(url string) (bodies []string) {
	w.Helper()
	for {
		out, err := w.queues.ReceiveMessage(w.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 0,
		})
		if err != nil {
			w.Fatal(err)
		}
		if len(out.Messages) == 0 {
			return bodies
		}
		var done []sqstypes.DeleteMessageBatchRequestEntry
		for i, m := range out.Messages {
			bodies = append(bodies, *m.Body)
			done = append(done, sqstypes.DeleteMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle})
		}
		if _, err := w.queues.DeleteMessageBatch(w.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: done}); err != nil {
			w.Fatal(err)
		}
	}
}

// listener is a rule on an organization's bus, with a queue behind it.
type listener struct {
	w   *world
	bus string
	url string
	got []heard
}

type heard struct {
	Source     string
	DetailType string `json:"detail-type"`
	Detail     struct {
		ID         string
		Type       string
		Sequence   int64
		Version    int
		Replay     bool
		IdentityID string `json:"identity_id"`
		Payload    struct {
			TaskID           string `json:"task_id"`
			Message          *string
			MessageTruncated bool `json:"message_truncated"`
			Result           *string
		}
	}
}

// listen makes an organization's bus and a listener on it.
func (w *world) listen(organization task.ID) *listener {
	w.Helper()
	name := localaws.Unique("heard")
	l := &listener{w: w, bus: w.prefix + organization.String(), url: w.queue(name)}
	l.makeBus(name)
	return l
}

func (l *listener) makeBus(queue string) {
	l.w.Helper()
	ctx := l.w.Context()
	if _, err := l.w.buses.CreateEventBus(ctx, &eventbridge.CreateEventBusInput{Name: &l.bus}); err != nil {
		l.w.Fatal(err)
	}
	pattern := `{"source":["baton.a2a"]}`
	if _, err := l.w.buses.PutRule(ctx, &eventbridge.PutRuleInput{Name: aws.String("all"), EventBusName: &l.bus, EventPattern: &pattern}); err != nil {
		l.w.Fatal(err)
	}
	out, err := l.w.buses.PutTargets(ctx, &eventbridge.PutTargetsInput{
		Rule: aws.String("all"), EventBusName: &l.bus,
		Targets: []ebtypes.Target{{Id: aws.String("queue"), Arn: aws.String("arn:aws:sqs:us-east-1:000000000000:" + queue)}},
	})
	if err != nil || out.FailedEntryCount != 0 {
		l.w.Fatal(err, out)
	}
}

func (w *world) dropBus(organization task.ID) {
	w.Helper()
	bus := w.prefix + organization.String()
	w.buses.RemoveTargets(w.Context(), &eventbridge.RemoveTargetsInput{Rule: aws.String("all"), EventBusName: &bus, Ids: []string{"queue"}})
	w.buses.DeleteRule(w.Context(), &eventbridge.DeleteRuleInput{Name: aws.String("all"), EventBusName: &bus})
	if _, err := w.buses.DeleteEventBus(w.Context(), &eventbridge.DeleteEventBusInput{Name: &bus}); err != nil {
		w.Fatal(err)
	}
}

// MakeBus implements relay.BusMaker by refusing: who wants a bus back makes it.
func (w *world) MakeBus(context.Context, task.ID) error { return relay.ErrNoBus }

// hear takes what came over the bus since the last time.
func (l *listener) hear() []heard {
	l.w.Helper()
	for _, body := range l.w.drain(l.url) {
		var h heard
		if err := json.Unmarshal([]byte(body), &h); err != nil {
			l.w.Fatalf("%v in %s", err, body)
		}
		l.got = append(l.got, h)
	}
	return l.got
}

// sequences are those heard so far, ascending, each once.
func (l *listener) sequences() (all []int64) {
	l.w.Helper()
	for _, h := range l.hear() {
		all = append(all, h.Detail.Sequence)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// talk is a task between two organizations' agents that grows by a change at a time.
type talk struct {
	w *world
	task.Change
}

func (w *world) talk(from, to task.ID) *talk {
	return &talk{w, task.Change{
		Task: task.NewID(), Context: task.NewID(), State: task.Submitted, Result: task.Clip{None: true},
		Caller: task.Caller{Party: task.Party{Identity: task.NewID(), Organization: from, Handle: "asker"}},
		Target: task.Party{Identity: task.NewID(), Organization: to, Handle: "doer"},
	}}
}

// ownTask is a task that a new organization sent to itself, and that nobody was told of.
func (w *world) ownTask() (organization task.ID, k *talk) {
	organization = task.NewID()
	k = w.talk(organization, organization)
	k.next(task.CauseSent, "x")
	return organization, k
}

// next is the record of one more change.
func (k *talk) next(cause task.Cause, text string) events.DynamoDBEventRecord {
	k.Number++
	k.Cause, k.At, k.Message = cause, time.Now().UTC().Truncate(time.Millisecond), nil
	k.Resumed = cause == task.CauseMessage && k.State == task.InputRequired
	if text != "" {
		k.Message = &task.Message{ID: task.NewID(), Parts: []task.Part{{Text: &text}}}
		if cause == task.CauseReply {
			k.Result, k.ResultChange = task.NewClip(text), k.Number
		}
	}
	k.w.mu.Lock()
	k.w.changes[key(k.Task, k.Number)] = k.Change
	k.w.mu.Unlock()
	return recordOf(k.Task, k.Number)
}

var recordNumber struct {
	sync.Mutex
	n int
}

func recordOf(id task.ID, number int) events.DynamoDBEventRecord {
	recordNumber.Lock()
	defer recordNumber.Unlock()
	recordNumber.n++
	keys := map[string]events.DynamoDBAttributeValue{
		"p": events.NewBinaryAttribute(id[:]), "s": events.NewStringAttribute(fmt.Sprintf("C#%06d", number)),
	}
	return events.DynamoDBEventRecord{EventName: "INSERT", Change: events.DynamoDBStreamRecord{
		Keys: keys, NewImage: keys, SequenceNumber: fmt.Sprintf("%021d", recordNumber.n),
	}}
}

// deliver gives records to the relay as one batch and returns the sequence numbers that must come again.
func (w *world) deliver(records ...events.DynamoDBEventRecord) (again []string) {
	w.Helper()
	return w.deliverIn(w.Context(), records...)
}

func (w *world) deliverIn(ctx context.Context, records ...events.DynamoDBEventRecord) (again []string) {
	w.Helper()
	response, err := w.relay.Records(ctx, events.DynamoDBEvent{Records: records})
	if err != nil {
		w.Errorf("the relay must answer, got %v", err)
	}
	for _, f := range response.BatchItemFailures {
		again = append(again, f.ItemIdentifier)
	}
	return again
}

// entries is an organization's log, checked: dense from 1, no event twice, each task's in its order, and as many as the
// head says.
func (w *world) entries(organization task.ID) []task.Event {
	w.Helper()
	entries, err := w.log.Entries(w.Context(), organization, 0, 1_000_000)
	if err != nil {
		w.Fatal(err)
	}
	seen := map[task.ID]bool{}
	version := map[task.ID]int{}
	for i, e := range entries {
		if e.Sequence != int64(i+1) {
			w.Fatalf("entry %d has sequence %d", i+1, e.Sequence)
		}
		if seen[e.ID] {
			w.Errorf("event %s of version %d is there twice", e.Type, e.Version)
		}
		seen[e.ID] = true
		if e.Version < version[e.Task] {
			w.Errorf("sequence %d: version %d after %d", e.Sequence, e.Version, version[e.Task])
		}
		version[e.Task] = e.Version
	}
	if head := w.head(organization); head.Sequence != int64(len(entries)) {
		w.Errorf("head says %d entries, there are %d", head.Sequence, len(entries))
	}
	return entries
}

func (w *world) head(organization task.ID) store.Head {
	w.Helper()
	head, err := w.log.Head(w.Context(), organization)
	if err != nil {
		w.Fatal(err)
	}
	return head
}

// upTo is 1 to n.
func upTo(n int) (all []int64) {
	for i := range n {
		all = append(all, int64(i+1))
	}
	return all
}
