package webhook_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/hookqueue"
	"baton/internal/localaws"
	"baton/internal/metrics"
	"baton/internal/relay"
	"baton/internal/store"
	"baton/internal/task"
	"baton/internal/webhook"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func TestMain(m *testing.M) {
	metrics.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	m.Run()
}

// world is everything between an event and its receivers, on the real tables and the real queue, with faults between.
// Only the queue's delays are those of the test's clock.
type world struct {
	*testing.T
	faults    *localaws.Faults
	clock     *localaws.Clock
	directory *store.Directory
	store     *store.Deliveries
	log       *store.Log
	relay     *relay.Relay
	service   *webhook.Service
	worker    *webhook.Worker
	sweeper   *webhook.Sweeper
	queue     *delayed
	queues    *sqs.Client
	url       string
	receivers *receivers
	shop      task.ID // an organization
}

// delayed holds jobs back until their delay is over by the test's clock; the real queue gets them then.
type delayed struct {
	real  webhook.Queue
	clock *localaws.Clock
	mu    sync.Mutex
	held  []heldJob
}

type heldJob struct {
	job webhook.Job
	due time.Time
}

func (q *delayed) Put(ctx context.Context, delay time.Duration, jobs ...webhook.Job) error {
	if delay == 0 {
		return q.real.Put(ctx, 0, jobs...)
	}
	if delay > webhook.LongestHop || delay%time.Second != 0 {
		return fmt.Errorf("no queue takes a delay of %v", delay)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range jobs {
		q.held = append(q.held, heldJob{j, q.clock.Now().Add(delay)})
	}
	return nil
}

// release gives the real queue what is due.
func (q *delayed) release(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	var due []webhook.Job
	q.held = slices.DeleteFunc(q.held, func(h heldJob) bool {
		if h.due.After(now) {
			return false
		}
		due = append(due, h.job)
		return true
	})
	return q.real.Put(ctx, 0, due...)
}

// noChanges holds none: the tests' texts are short.
type noChanges struct{}

func (noChanges) Change(context.Context, task.ID, int) (task.Change, error) {
	return task.Change{}, task.ErrNotFound
}

func newWorld(t *testing.T) *world {
	t.Helper()
	config, faults := localaws.Config(t)
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	db := dynamodb.NewFromConfig(config)
	w := &world{T: t, faults: faults, clock: &localaws.Clock{}, receivers: newReceivers(t), queues: sqs.NewFromConfig(config)}
	tables := localaws.NewTables(t)
	w.directory = store.NewDirectory(db, tables.Directory)
	w.log = store.NewLog(db, tables.Events, noChanges{}, w.clock.Now)
	w.store = store.NewDeliveries(db, tables.Events, w.log, w.clock.Now)
	out, err := w.queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(localaws.Unique("deliveries"))})
	w.must(err)
	w.url = *out.QueueUrl
	w.queue = &delayed{real: hookqueue.New(w.queues, w.url), clock: w.clock}
	buses := relay.NewBuses(eventbridge.NewFromConfig(config), localaws.Unique("baton")+"-")
	w.relay = relay.New(w.log, buses, nil, w.directory, webhook.NewFan(w.directory, w.directory, w.queue), nil)
	addresses := webhook.Addresses{Local: []netip.AddrPort{w.receivers.at}}
	w.service = webhook.NewService(w.directory, w.store, w.queue, addresses, w.clock.Now)
	w.worker = w.workerOn(w.queue)
	w.sweeper = webhook.NewSweeper(w.store, w.queue, w.clock.Now)
	w.shop = w.organization(false)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// organization makes one in the directory, which says whether it wants legacy events.
func (w *world) organization(legacy bool) task.ID {
	w.Helper()
	people := directory.NewService(w.directory, directory.Options{
		Mint: directory.NewMint("stamp"), Now: w.clock.Now, Stage: "test", Buses: noBuses{},
	})
	made, err := people.CreateOrganization(w.Context(), directory.Principal{Kind: directory.Operator},
		directory.OrganizationEdit{Name: aws.String("shop"), LegacyEvents: &legacy})
	w.must(err)
	return made.ID
}

type noBuses struct{}

func (noBuses) Create(_ context.Context, o directory.Organization) directory.Bus {
	return directory.Bus{Name: o.Bus.Name, Status: directory.BusPending}
}

// hook makes a hook to the receiver of a name.
func (w *world) hook(organization task.ID, receiver string, types ...string) webhook.Hook {
	w.Helper()
	url := w.receivers.url + "/" + receiver
	h, err := w.service.Create(w.Context(), organization, webhook.Edit{URL: &url, Events: &types})
	w.must(err)
	return h
}

func (w *world) stored(h webhook.Hook) webhook.Hook {
	w.Helper()
	h, err := w.service.Hook(w.Context(), h.Organization, h.ID)
	w.must(err)
	return h
}

func (w *world) edit(h webhook.Hook, e webhook.Edit) webhook.Hook {
	w.Helper()
	h, err := w.service.Edit(w.Context(), h.Organization, h.ID, e)
	w.must(err)
	return h
}

// deliveries are all of a hook's, oldest event first.
func (w *world) deliveries(h webhook.Hook) (all []webhook.Delivery) {
	w.Helper()
	for before := int64(0); ; {
		page, next, err := w.service.Deliveries(w.Context(), h.Organization, h.ID, before, 3)
		w.must(err)
		all = append(all, page...)
		if next == 0 {
			slices.Reverse(all)
			return all
		}
		before = next
	}
}

// only is a hook's one delivery.
func (w *world) only(h webhook.Hook) webhook.Delivery {
	w.Helper()
	all := w.deliveries(h)
	if len(all) != 1 {
		w.Fatalf("%d deliveries, want one: %+v", len(all), all)
	}
	return all[0]
}

// event is a new one of a type for an organization.
func (w *world) event(organization, identity task.ID, t task.EventType) task.Event {
	id := task.NewID()
	return task.Event{
		ID: task.EventID(id, 1, t), Type: t, Organization: organization, Identity: identity, Task: id, Context: task.NewID(),
		Version: 1, State: task.Submitted, At: w.clock.Now(), Message: task.Clip{Text: "Refund order 4182"}, Result: task.Clip{None: true},
		Caller: task.Caller{Party: task.Party{Identity: task.NewID(), Organization: organization, Handle: "asker"}},
		Target: task.Party{Identity: identity, Organization: organization, Handle: "helper"},
	}
}

// tell puts events in the log, and so onto the queue.
func (w *world) tell(organization task.ID, told ...task.Event) {
	w.Helper()
	w.must(w.relay.Tell(w.Context(), organization, told))
}

// receive takes what is in the queue, as Lambda does.
func (w *world) receive() (batch []events.SQSMessage) {
	w.Helper()
	w.must(w.queue.release(w.Context()))
	out, err := w.queues.ReceiveMessage(w.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: &w.url, MaxNumberOfMessages: 10,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameApproximateReceiveCount},
	})
	w.must(err)
	for _, m := range out.Messages {
		batch = append(batch, events.SQSMessage{MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes})
	}
	return batch
}

// handle gives a batch to the worker. What fails is at once in the queue again.
func (w *world) handle(batch []events.SQSMessage) (failed int) {
	w.Helper()
	response, err := hookqueue.Handle(w.worker)(w.Context(), events.SQSEvent{Records: batch})
	w.must(err)
	for _, m := range batch {
		again := slices.ContainsFunc(response.BatchItemFailures, func(f events.SQSBatchItemFailure) bool { return f.ItemIdentifier == m.MessageId })
		if again {
			failed++
			_, err = w.queues.ChangeMessageVisibility(w.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &w.url, ReceiptHandle: &m.ReceiptHandle})
		} else {
			_, err = w.queues.DeleteMessage(w.Context(), &sqs.DeleteMessageInput{QueueUrl: &w.url, ReceiptHandle: &m.ReceiptHandle})
		}
		w.must(err)
	}
	return failed
}

// work handles what is due, until nothing is.
func (w *world) work() {
	w.Helper()
	for {
		batch := w.receive()
		if len(batch) == 0 {
			return
		}
		w.handle(batch)
	}
}

// pass lets the time go by in steps of a minute, each with its sweep, as the schedule has it.
func (w *world) pass(d time.Duration) {
	w.Helper()
	for ; d > 0; d -= time.Minute {
		w.clock.Forward(min(d, time.Minute))
		w.must(w.sweeper.Sweep(w.Context()))
		w.work()
	}
}

// next lets the time go by until the next try of a hook's newest delivery, and makes it.
func (w *world) next(h webhook.Hook) {
	w.Helper()
	all := w.deliveries(h)
	due := all[len(all)-1].Due
	if due.IsZero() {
		w.Fatalf("no try is to come: %+v", all[len(all)-1])
	}
	w.clock.Forward(due.Sub(w.clock.Now()))
	w.must(w.sweeper.Sweep(w.Context()))
	w.clock.Forward(2 * time.Second) // delays are whole seconds
	w.work()
}

// entries are an organization's log.
func (w *world) entries(organization task.ID) []task.Event {
	w.Helper()
	all, err := w.log.Entries(w.Context(), organization, 0, 1000)
	w.must(err)
	return all
}

// receivers are https endpoints on the loopback, told apart by the first step of the path.
type receivers struct {
	url   string
	at    netip.AddrPort
	roots *x509.CertPool

	mu      sync.Mutex
	got     map[string][]arrival
	answers map[string]http.HandlerFunc // 200 when there is none
}

// arrival is one request that a receiver got.
type arrival struct {
	id     string
	header http.Header
	raw    []byte
	body   struct {
		ID         string
		Type       task.EventType
		Sequence   int64
		IdentityID *string `json:"identity_id"`
		Payload    map[string]any
	}
}

func newReceivers(t *testing.T) *receivers {
	r := &receivers{got: map[string][]arrival{}, answers: map[string]http.HandlerFunc{}, roots: x509.NewCertPool()}
	server := httptest.NewTLSServer(r)
	t.Cleanup(server.Close)
	r.url, r.at = server.URL, netip.MustParseAddrPort(server.Listener.Addr().String())
	r.roots.AddCert(server.Certificate())
	return r
}

func (r *receivers) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	a := arrival{id: req.Header.Get("webhook-id"), header: req.Header}
	a.raw, _ = io.ReadAll(req.Body)
	json.Unmarshal(a.raw, &a.body)
	name := req.URL.Path[1:]
	r.mu.Lock()
	r.got[name] = append(r.got[name], a)
	answer := r.answers[name]
	r.mu.Unlock()
	if answer != nil {
		answer(w, req)
	}
}

// answer says what a receiver answers from now on; nil for 200.
func (r *receivers) answer(name string, with http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[name] = with
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// take is what a receiver got since the last time.
func (r *receivers) take(name string) []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer delete(r.got, name)
	return r.got[name]
}

// kinds are the types of arrivals, sorted.
func kinds(got []arrival) (all []task.EventType) {
	for _, a := range got {
		all = append(all, a.body.Type)
	}
	slices.Sort(all)
	return all
}

// signed says whether the published library takes an arrival's signature for one by a secret, at whatever time.
func signed(t *testing.T, by webhook.Secret, a arrival) bool {
	t.Helper()
	library, err := standardwebhooks.NewWebhook(by.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return library.VerifyIgnoringTimestamp(a.raw, a.header) == nil
}

// refusing is a queue that takes nothing.
type refusing struct{}

func (refusing) Put(context.Context, time.Duration, ...webhook.Job) error { return task.ErrUnavailable }

// workerOn is the worker with another queue.
func (w *world) workerOn(q webhook.Queue) *webhook.Worker {
	addresses := webhook.Addresses{Local: []netip.AddrPort{w.receivers.at}}
	return webhook.NewWorker(w.directory, w.store, w.store, q, webhook.NewSender(addresses, w.receivers.roots), w.relay, w.clock.Now)
}
