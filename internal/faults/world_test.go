package faults

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"baton/client"
	"baton/internal/cursor"
	"baton/internal/directory"
	"baton/internal/hookqueue"
	"baton/internal/httpapi"
	"baton/internal/localaws"
	"baton/internal/metrics"
	"baton/internal/relay"
	"baton/internal/store"
	"baton/internal/task"
	"baton/internal/traffic"
	"baton/internal/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func TestMain(m *testing.M) {
	metrics.SetOutput(io.Discard)
	if os.Getenv("FAULTS_LOG") == "" {
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}
	m.Run()
}

// stage is the whole service in this process, on tables, queues and buses of its own.
type stage struct {
	*testing.T
	faults  *localaws.Faults // of all that the functions call
	gateway *gateway
	clock   *clock
	tables  localaws.Tables
	prefix  string // the stage's name, in that of its buses

	// What the functions are given by their environment.
	config                     aws.Config
	cursors                    string // CURSOR_SECRETS
	deliveriesURL, failuresURL string
	receivers                  *receivers
	callTimeout                atomic.Int64    // the most that a call takes, as a time.Duration
	skews                      []time.Duration // one instance of each function for each
	background                 *background
	db                         *dynamodb.Client // and these are never hit by a fault
	queues                     *sqs.Client
	streams                    *dynamodbstreams.Client
	traffic                    *traffic.Driver
	ears                       *traffic.Ears
	told                       map[string][]traffic.Told
	leaver                     *traffic.Agent
	gone                       purge
}

// clock is the time as the functions see it, each with its own skew.
type clock struct {
	mu    sync.Mutex
	skip  time.Duration
	wrong func() // is told of each look at a clock that is skewed; may be nil
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skip += d
}

func (c *clock) skewed(by time.Duration) func() time.Time {
	return func() time.Time {
		c.mu.Lock()
		defer c.mu.Unlock()
		if by != 0 && c.wrong != nil {
			c.wrong()
		}
		return time.Now().Add(c.skip + by)
	}
}

// callTimeout is that of lambdaenv.
const callTimeout = 5 * time.Second

// newStage raises the curtain: two organizations of two agents each, hooks, listeners, and one that has no part in it.
func newStage(t *testing.T, c faultCase) *stage {
	t.Helper()
	clean, _ := localaws.Config(t)
	config, faults := localaws.Config(t)
	s := &stage{
		T: t, faults: faults, gateway: &gateway{}, clock: &clock{}, tables: localaws.NewTables(t),
		prefix: localaws.Unique("f"), cursors: "first", skews: []time.Duration{0},
		db: dynamodb.NewFromConfig(clean), queues: sqs.NewFromConfig(clean),
		streams: dynamodbstreams.NewFromConfig(clean), told: map[string][]traffic.Told{},
	}
	s.ears = &traffic.Ears{Buses: eventbridge.NewFromConfig(clean), Queues: s.queues, Prefix: "baton-" + s.prefix + "-"}
	s.callTimeout.Store(int64(cmp.Or(c.callTimeout, callTimeout)))
	if c.skews != nil {
		s.skews = c.skews
	}
	config.HTTPClient = timed{faults, &s.callTimeout}
	s.config = config
	s.receivers = newReceivers(t)
	s.deliveriesURL, s.failuresURL = s.queue("deliveries", "3"), s.queue("failures", "30")
	s.deploy()
	operator, err := s.people(0).CreateOperatorKey(t.Context())
	s.must(err)
	web := &http.Client{Transport: s.gateway}
	w, err := traffic.Make(t.Context(), "http://gateway", operator, 2, 2, client.WithHTTPClient(web), client.WithRetries(4))
	s.must(err)
	s.traffic = &traffic.Driver{World: w, Ledger: traffic.NewLedger(), Lease: 30 * time.Second}
	s.leaver, err = w.Agent(t.Context(), w.Organizations[1], client.NewKey{})
	s.must(err)
	for _, o := range w.Organizations {
		id, _ := task.ParseID(o.ID)
		s.must(s.ears.Listen(t.Context(), id))
		url, all := s.receivers.url+"/"+o.ID, []string{"a2a.task.created", "a2a.task.message", "a2a.task.canceled", "a2a.sent_task.updated"}
		_, err := s.hooks().Create(t.Context(), id, webhook.Edit{URL: &url, Events: &all})
		s.must(err)
	}
	s.background = newBackground(s)
	return s
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// timed is a client that gives a call up after a while, as lambdaenv's does.
type timed struct {
	transport http.RoundTripper
	after     *atomic.Int64
}

// Do implements the SDK's HTTPClient.
func (t timed) Do(r *http.Request) (*http.Response, error) {
	return (&http.Client{Transport: t.transport, Timeout: time.Duration(t.after.Load())}).Do(r)
}

// database is a client such as a function has.
func (s *stage) database() *dynamodb.Client {
	return store.NewClient(dynamodb.Options{
		Region: s.config.Region, BaseEndpoint: s.config.BaseEndpoint, Credentials: s.config.Credentials, HTTPClient: s.config.HTTPClient,
	})
}

func (s *stage) people(skew time.Duration) *directory.Service {
	return directory.NewService(store.NewDirectory(s.database(), s.tables.Directory), directory.Options{
		Mint: directory.NewMint("stamp"), Remember: 30 * time.Second, Now: s.clock.skewed(skew), Stage: s.prefix,
		Buses: busMaker{s, relay.NewMaker(eventbridge.NewFromConfig(s.config), store.NewDirectory(s.database(), s.tables.Directory))},
	})
}

func (s *stage) hooks() *webhook.Service {
	db := dynamodb.NewFromConfig(s.config)
	now := s.clock.skewed(0)
	deliveries := store.NewDeliveries(db, s.tables.Events, s.log(db, now), now)
	return webhook.NewService(store.NewDirectory(db, s.tables.Directory), deliveries, nil, s.receivers.addresses(), now)
}

func (s *stage) log(db *dynamodb.Client, now func() time.Time) *store.Log {
	return store.NewLog(db, s.tables.Events, store.NewTasks(db, s.tables.Tasks), now)
}

// deploy starts new instances of the API's functions, wired as their mains are.
func (s *stage) deploy() {
	var all []map[string]httpapi.Handler
	flips := map[string]int{} // which clock a function's first instance has
	for i := range s.skews {
		functions := map[string]httpapi.Handler{}
		// Each function has its clock, its caches and its clients.
		function := func(name string, make func(*httpapi.Edge, *directory.Service, *task.Service) httpapi.Handler) {
			if i == 0 {
				flips[name] = rand.IntN(len(s.skews))
			}
			skew := s.skews[(i+flips[name])%len(s.skews)]
			now, people := s.clock.skewed(skew), s.people(skew)
			edge := httpapi.NewEdge(httpapi.Options{
				Directory: people, Cursors: cursor.New(s.cursors, now), Log: io.Discard, Now: now,
				Meter: func(ctx context.Context) (context.Context, func() (read, write float64, calls int)) {
					ctx, usage := store.WithUsage(ctx)
					return ctx, usage.Total
				},
			})
			functions[name] = make(edge, people, task.NewService(store.NewTasks(s.database(), s.tables.Tasks), now))
		}
		type edge = *httpapi.Edge
		type people = *directory.Service
		type tasks = *task.Service
		function("send-task", func(e edge, p people, t tasks) httpapi.Handler {
			return httpapi.SendTask(e, directory.Gate{Service: p, Limiter: directory.NewLimiter(
				store.NewDirectory(s.database(), s.tables.Directory), store.NewTasks(s.database(), s.tables.Tasks),
				directory.Limits{SendsPerMinute: 100_000, SendsPerSecond: 100_000, OpenTasksAtMost: 100_000}, e.Now,
			)}, t)
		})
		function("read-task", func(e edge, p people, t tasks) httpapi.Handler { return httpapi.ReadTask(e, p, t) })
		function("list-tasks", func(e edge, _ people, t tasks) httpapi.Handler { return httpapi.ListTasks(e, t) })
		function("add-message", func(e edge, _ people, t tasks) httpapi.Handler { return httpapi.AddMessage(e, t) })
		function("list-messages", func(e edge, _ people, t tasks) httpapi.Handler { return httpapi.ListMessages(e, t) })
		function("reply-task", func(e edge, _ people, t tasks) httpapi.Handler { return httpapi.ReplyTask(e, t) })
		function("cancel-task", func(e edge, p people, t tasks) httpapi.Handler { return httpapi.CancelTask(e, p, t) })
		function("claim-task", func(e edge, _ people, t tasks) httpapi.Handler { return httpapi.ClaimTask(e, t) })
		function("list-contexts", func(e edge, _ people, t tasks) httpapi.Handler { return httpapi.ListContexts(e, t) })
		function("read-context", func(e edge, _ people, t tasks) httpapi.Handler { return httpapi.ReadContext(e, t) })
		function("list-events", func(e edge, _ people, _ tasks) httpapi.Handler {
			return httpapi.ListEvents(e, task.NewEvents(s.log(s.database(), e.Now), e.Now))
		})
		function("manage-organizations", func(e edge, p people, _ tasks) httpapi.Handler { return httpapi.ManageOrganizations(e, p) })
		function("manage-identities", func(e edge, p people, _ tasks) httpapi.Handler { return httpapi.ManageIdentities(e, p) })
		function("manage-keys", func(e edge, p people, _ tasks) httpapi.Handler { return httpapi.ManageKeys(e, p) })
		all = append(all, functions)
	}
	s.gateway.deploy(all...)
}

// busMaker makes buses as relay.Maker does, and its owner's rule again on one that was made anew.
type busMaker struct {
	s *stage
	*relay.Maker
}

func (m busMaker) MakeBus(ctx context.Context, organization task.ID) error {
	if err := m.Maker.MakeBus(ctx, organization); err != nil {
		return err
	}
	return m.s.ears.Again(ctx, organization)
}

// queue makes a queue whose messages come again after some seconds when nobody deletes them.
func (s *stage) queue(name, again string) (url string) {
	s.Helper()
	out, err := s.queues.CreateQueue(s.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String(localaws.Unique(name)), Attributes: map[string]string{"VisibilityTimeout": again},
	})
	s.must(err)
	return *out.QueueUrl
}

// hear takes what came over the buses and to the webhooks since the last time.
func (s *stage) hear() {
	s.Helper()
	heard, err := s.ears.Heard(s.Context())
	s.must(err)
	s.told["bus"], s.told["webhook"] = heard, s.receivers.all()
}

// receivers are the webhooks' ends, each organization's under its id. A fifth of the tries fails.
type receivers struct {
	url   string
	at    netip.AddrPort
	roots *x509.CertPool

	mu   sync.Mutex
	well bool
	got  []traffic.Told
}

func newReceivers(t *testing.T) *receivers {
	r := &receivers{roots: x509.NewCertPool()}
	server := httptest.NewTLSServer(r)
	t.Cleanup(server.Close)
	r.url, r.at = server.URL, netip.MustParseAddrPort(server.Listener.Addr().String())
	r.roots.AddCert(server.Certificate())
	return r
}

func (r *receivers) addresses() webhook.Addresses {
	return webhook.Addresses{Local: []netip.AddrPort{r.at}}
}

func (r *receivers) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var got traffic.Told
	err := json.NewDecoder(req.Body).Decode(&got)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || !r.well && rand.IntN(5) == 0 {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	got.At, _ = task.ParseID(req.URL.Path[1:])
	r.got = append(r.got, got)
}

func (r *receivers) recover() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.well = true
}

func (r *receivers) all() []traffic.Told {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]traffic.Told(nil), r.got...)
}

// worker is that of deliver-webhooks.
func (s *stage) worker(now func() time.Time) *webhook.Worker {
	db := dynamodb.NewFromConfig(s.config)
	people := store.NewDirectory(db, s.tables.Directory)
	deliveries := store.NewDeliveries(db, s.tables.Events, s.log(db, now), now)
	queue := s.jobs()
	teller := relay.New(s.log(db, now), s.busesOf(), nil, people, webhook.NewFan(people, people, queue), nil)
	return webhook.NewWorker(people, deliveries, deliveries, queue, webhook.NewSender(s.receivers.addresses(), s.receivers.roots), teller, now)
}

func (s *stage) busesOf() *relay.Buses {
	return relay.NewBuses(eventbridge.NewFromConfig(s.config), s.ears.Prefix)
}

// jobs is the queue of deliveries. Its delays are cut to a second, since the clock may run ahead of the queue's own: what comes
// too early, the worker queues again.
func (s *stage) jobs() webhook.Queue {
	return impatient{hookqueue.New(sqs.NewFromConfig(s.config), s.deliveriesURL)}
}

type impatient struct{ webhook.Queue }

func (q impatient) Put(ctx context.Context, delay time.Duration, jobs ...webhook.Job) error {
	return q.Queue.Put(ctx, min(delay, time.Second), jobs...)
}
