package bench

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"baton/internal/localaws"
	"baton/internal/metrics"
	"baton/internal/relay"
	"baton/internal/store"
	"baton/internal/store/storetest"
	"baton/internal/webhook"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Million is what a million tasks cost, each a send, a progress, a completion and two reads, with the events of all that
// between two organizations and the start of the worker. No two changes come so close that the relay takes them together.
type Million struct {
	Region  string   `json:"region"`
	Seen    string   `json:"prices_seen"`
	Dollars float64  `json:"usd"`
	Items   []Item   `json:"items"` // dearest first
	Largest string   `json:"largest"`
	Tried   []string `json:"tried_against_the_largest"`
	Choices []Choice `json:"choices"`
	Memory  []Memory `json:"memory"`
	Assumed []string `json:"assumed"`
	Prices  []price  `json:"prices"`
}

// Item is one line of the bill.
type Item struct {
	Name    string  `json:"name"`
	Units   float64 `json:"units_per_task"`
	Unit    string  `json:"unit"`
	Dollars float64 `json:"usd"`
	Share   float64 `json:"share"`
}

// Choice is what was decided, and what a million tasks would cost more with the other way; less where Dollars is
// negative, which is then why the other way was not taken.
type Choice struct {
	Made    string  `json:"made"`
	Instead string  `json:"instead"`
	Dollars float64 `json:"usd"`
	Note    string  `json:"note"`
}

// Memory is what the functions' time costs with another memory size, of which they get their processor's share.
type Memory struct {
	MB           int     `json:"mb"`
	Milliseconds float64 `json:"ms"` // of a reply
	Dollars      float64 `json:"usd"`
}

// What can't be measured here, as AWS's documents have it.
const (
	vcpuMB       = 1769 // memory that comes with one whole processor (AWS, "Configure Lambda function memory")
	memoryMB     = 512  // template.yaml
	roundTripMs  = 4    // from a function to DynamoDB
	busMs        = 15   // and to EventBridge
	workerMs     = 100  // that the worker's function runs, beside its calls that are counted here
	lambdaLines  = 3    // START, END and REPORT of each call
	lambdaBytes  = 62 + 58 + 170
	logLineBytes = 26 // that CloudWatch adds to a line
	itemBytes    = 100
	gigabyte     = 1 << 30
)

// script is what one task took, on average; the functions' own time is put together from the processor time of
// TestOperations and these round trips.
type script struct {
	calls, relays, trips float64
	writes, reads        float64 // of tasks, by calls
	eventWrites          float64 // by relays
	eventReads           float64
	busEvents            float64
	answered, logged     float64 // bytes by calls, logged lines of relays too
	lines                float64
	stored, eventsStored float64 // bytes, indexes and what DynamoDB adds to an item included
	head                 float64 // bytes of it
	relayCPU             float64 // µs each
	relayTrips           float64 // each
	keyReads             float64 // units that one call more takes when the key is not known
}

func TestMillionTasks(t *testing.T) {
	w := newWorld(t)
	var lines bytes.Buffer
	metrics.SetOutput(&lines)
	defer metrics.SetOutput(io.Discard)
	tell := w.newRelay()

	said := 0
	one := func(s *script) {
		said++
		note := func(c Cost) {
			s.calls++
			s.writes += c.WriteUnits
			s.reads += c.ReadUnits
			s.trips += float64(c.RoundTrips)
			s.answered += float64(w.answered)
			s.logged += float64(w.log.Len())
			s.lines += float64(bytes.Count(w.log.Bytes(), []byte("\n")))
		}
		c, id := w.send("Refund order 4182, the customer sent it back.", fmt.Sprint("refund-", said))
		note(c)
		note(w.reply(id, "progress", "I am looking at it.", fmt.Sprint("looking-", said)))
		note(w.read(id))
		note(w.reply(id, "complete", "42.00 EUR are on their way to the customer's account.", fmt.Sprint("done-", said)))
		note(w.read(id))
	}
	told := map[string]bool{}
	relays := func() (records []events.DynamoDBEventRecord) {
		for _, r := range storetest.Stream(t, tell.db, w.tables.Tasks) {
			key := fmt.Sprint(r.Change.Keys["p"].Binary(), r.Change.Keys["s"].String())
			if !told[key] {
				told[key] = true
				records = append(records, r)
			}
		}
		return records
	}
	stored := func() (tasks, logs []int) {
		w.faults.Reset()
		for _, table := range []string{w.tables.Tasks, w.tables.Events} {
			pages := dynamodb.NewScanPaginator(tell.db, &dynamodb.ScanInput{TableName: &table})
			for pages.HasMorePages() {
				if _, err := pages.NextPage(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range w.faults.Calls() {
				if table == w.tables.Tasks {
					tasks = append(tasks, c.ItemSizes()...)
				} else {
					logs = append(logs, c.ItemSizes()...)
				}
			}
			w.faults.Reset()
		}
		return tasks, logs
	}
	sum := func(sizes []int) (n float64) {
		for _, size := range sizes {
			n += float64(size + itemBytes)
		}
		return n
	}

	one(&script{}) // makes the organizations' logs, and all caches warm
	for _, r := range relays() {
		tell.one(r)
	}
	tasksBefore, logsBefore := stored()
	n := 10.0
	if thorough() {
		n = 100
	}
	var s script
	for range int(n) {
		one(&s)
	}
	records := relays()
	lines.Reset()
	w.faults.Reset()
	began := processorTime()
	for _, r := range records {
		tell.one(r)
	}
	s.relayCPU = (processorTime() - began) / float64(len(records))
	s.relays = float64(len(records))
	s.relayTrips = float64(w.faults.Count("")-w.faults.Count("PutEvents")) / s.relays
	s.busEvents = float64(w.faults.Count("PutEvents"))
	s.eventReads, s.eventWrites = w.faults.Units()
	s.logged += float64(lines.Len())
	s.lines += float64(bytes.Count(lines.Bytes(), []byte("\n")))
	tasks, logs := stored()
	heads := w.heads(tell.db)
	s.head = heads
	s.stored = sum(tasks) - sum(tasksBefore) + n*2*(heads+itemBytes)
	s.eventsStored = sum(logs) - sum(logsBefore)
	for _, each := range []*float64{
		&s.calls, &s.relays, &s.trips, &s.writes, &s.reads, &s.eventWrites, &s.eventReads, &s.busEvents, &s.answered, &s.logged,
		&s.lines, &s.stored, &s.eventsStored,
	} {
		*each /= n
	}
	if s.calls != 5 || s.relays != 3 || s.busEvents != 3 {
		t.Errorf("a task took %.2f calls, %.2f changes and %.2f events", s.calls, s.relays, s.busEvents)
	}
	if s.writes != 24 {
		t.Errorf("a task took %.2f write units by its three writes", s.writes)
	}
	// The log head 2, the event 2 and the mark of its id 2.
	if s.eventWrites > 18 {
		t.Errorf("an event that is relayed alone takes %.2f write units", s.eventWrites/3)
	}
	w.wire(w.config.HTTPClient) // an instance that knows no key
	_, id := w.send("Whose key is this?", "")
	known := w.read(id)
	w.wire(w.config.HTTPClient)
	s.keyReads = w.read(id).ReadUnits - known.ReadUnits
	measured.script = s
}

var measured struct{ script }

// heads is the mean size of the heads of tasks.
func (w *world) heads(db *dynamodb.Client) float64 {
	w.faults.Reset()
	index := "received"
	if _, err := db.Scan(w.Context(), &dynamodb.ScanInput{TableName: &w.tables.Tasks, IndexName: &index}); err != nil {
		w.Fatal(err)
	}
	n, sum := 0, 0
	for _, c := range w.faults.Calls() {
		for _, size := range c.ItemSizes() {
			n, sum = n+1, sum+size
		}
	}
	return float64(sum) / float64(n)
}

// teller is the relay of a world, wired as relay-events wires it.
type teller struct {
	*world
	db    *dynamodb.Client
	relay *relay.Relay
}

func (w *world) newRelay() teller {
	db := dynamodb.NewFromConfig(w.config)
	tasks, people := store.NewTasks(db, w.tables.Tasks), store.NewDirectory(db, w.tables.Directory)
	buses, prefix := eventbridge.NewFromConfig(w.config), localaws.Unique("bench")+"-"
	for _, a := range []agent{w.from, w.to} {
		bus := prefix + a.Organization.ID.String()
		if _, err := buses.CreateEventBus(w.Context(), &eventbridge.CreateEventBusInput{Name: &bus}); err != nil {
			w.Fatal(err)
		}
	}
	return teller{w, db, relay.New(
		store.NewLog(db, w.tables.Events, tasks, time.Now), relay.NewBuses(buses, prefix), tasks, people,
		webhook.NewFan(people, people, noHooks{}), relay.NewFailureQueue(sqs.NewFromConfig(w.config), "none"),
	)}
}

// noHooks is the queue of a service in which nobody has a webhook.
type noHooks struct{}

func (noHooks) Put(context.Context, time.Duration, ...webhook.Job) error { panic("bench: a hook") }

// one tells of one change alone.
func (t teller) one(r events.DynamoDBEventRecord) {
	t.Helper()
	response, err := t.relay.Records(t.Context(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{r}})
	if err != nil || response.BatchItemFailures != nil {
		t.Fatal(response, err)
	}
}

// milliseconds is how long a function runs that takes so much processor time and so many round trips.
func milliseconds(cpu, trips float64, mb int) float64 {
	return cpu/1000*max(1, vcpuMB/float64(mb)) + trips*roundTripMs
}

// seconds is what that makes in GB-seconds, of which each begun millisecond is paid.
func seconds(ms float64, mb int) float64 { return math.Ceil(ms) / 1000 * float64(mb) / 1024 }

// computing is what the functions' time takes of one task, in GB-seconds.
func (s script) computing(mb int) (calls, relays, worker float64) {
	for _, name := range []string{"send", "reply", "reply", "read", "read"} {
		o := report.Operations[name]
		calls += seconds(milliseconds(o.CPU, float64(o.RoundTrips), mb), mb)
	}
	relays = s.relays * seconds(milliseconds(s.relayCPU, s.relayTrips, mb)+busMs, mb)
	return calls, relays, seconds(workerMs, mb)
}

// bill puts prices to what was measured.
func bill(s script) Million {
	m := Million{Region: pricesRegion, Seen: pricesSeen}
	p := prices
	item := func(name string, units float64, of price) {
		m.Items = append(m.Items, Item{Name: name, Units: units, Unit: of.Per, Dollars: units * of.Dollars * million})
	}
	calls, relays, worker := s.computing(memoryMB)
	functionCalls := s.calls + s.relays + 1
	logged := s.logged + s.lines*logLineBytes + (functionCalls-1)*(lambdaBytes+lambdaLines*logLineBytes)
	item("API Gateway: calls", s.calls, p.restRequest)
	item("DynamoDB: writes of tasks", s.writes, p.writeUnit)
	item("DynamoDB: writes of the event log", s.eventWrites, p.writeUnit)
	item("DynamoDB: reads", s.reads+s.eventReads, p.readUnit)
	item("EventBridge: events on the buses", s.busEvents, p.busEvent)
	item("DynamoDB streams: reads", s.relays, p.streamRead)
	item("Lambda: calls of endpoints", s.calls, p.lambdaRequest)
	item("Lambda: calls of the relay", s.relays, p.lambdaRequest)
	item("Lambda: start of the worker", 1, p.lambdaRequest)
	item("Lambda: time of endpoints", calls, p.lambdaSecond)
	item("Lambda: time of the relay", relays, p.lambdaSecond)
	item("Lambda: time of the worker", worker, p.lambdaSecond)
	item("CloudWatch: log lines", logged/gigabyte, p.logBytes)
	item("WAF: calls looked at", s.calls, p.firewallRequest)
	item("data to callers", s.answered/gigabyte, p.transfer)
	item("storage of tasks, each month", s.stored/gigabyte, p.tableStorage)
	item("storage of events, their 30 days", s.eventsStored/gigabyte, p.tableStorage)
	item("point-in-time recovery, each month", (s.stored+s.eventsStored)/gigabyte, p.recovery)
	for _, i := range m.Items {
		m.Dollars += i.Dollars
	}
	for i := range m.Items {
		m.Items[i].Share = m.Items[i].Dollars / m.Dollars
	}
	slices.SortStableFunc(m.Items, func(a, b Item) int { return cmp.Compare(b.Dollars, a.Dollars) })
	m.Largest, m.Tried = m.Items[0].Name, triedAgainst(m.Items[0])

	choice := func(made, instead string, units float64, of price, note string) {
		m.Choices = append(m.Choices, Choice{made, instead, units * of.Dollars * million, note})
	}
	const writes = 3
	choice("a head under 1 KB (binary ids, short names, clipped texts)", "one byte over 1 KB",
		4+2*6, p.writeUnit, fmt.Sprintf("the head has %.0f bytes; 2 units more in the table and 1 or 2 in each index", s.head))
	choice("what changed is message, event and record of the retry in one item", "an item each, in the same transaction",
		writes*2*2, p.writeUnit, "2 units an item")
	choice("two indexes", "a third one, of the contexts", 1+2*2, p.writeUnit, "1 unit to insert, 2 to move")
	choice("only heads are in the indexes", "messages too", writes*2, p.writeUnit, "1 unit each")
	choice("the relay takes changes together when there are many", "one by one, as in this bill",
		s.eventWrites-writes*report.Events.WriteUnits, p.writeUnit, "what a busy service saves of this bill")
	choice("the stream's filter lets changes pass alone", "heads and contexts start the relay too",
		writes+1, p.lambdaRequest, "and the functions' time")
	choice("authentication in the functions", "in an authorizer, a function too",
		s.calls, p.lambdaRequest, "and its time, on every call's path")
	choice("a key is trusted for 30 s", "read at each call", s.calls*s.keyReads, p.readUnit, "less as calls of an instance and key are rarer")
	choice("a read is one query", "a transaction of head and messages", s.reads, p.readUnit, "a transaction reads at twice the units")
	choice("arm64", "x86", calls+relays, price{Dollars: p.lambdaSecondX86.Dollars - p.lambdaSecond.Dollars}, "at the same time")
	choice("sends are counted in the function and noted in portions", "three counters written at each send", writes, p.writeUnit, "and a round trip")
	if long := growth("reply", 100); long.ReadUnits > 0 {
		choice("Prefer: return=minimal, on a task of 100 messages", "answers with all of them",
			(long.ReadUnits-growth("reply, minimal", 100).ReadUnits)*writes, p.readUnit, "the client's to choose; the data comes on top")
	}
	choice("REST API", "HTTP API", s.calls, price{Dollars: p.httpRequest.Dollars - p.restRequest.Dollars},
		"not taken: no response streaming, firewall, usage plans or body limits there")
	choice("reads after events", fmt.Sprintf("send with ?wait=, held %d s, for the two reads", heldSeconds), 1,
		price{Dollars: held(heldSeconds) - 2*call}, "the client's to choose")
	choice("256 MB for functions that hold calls longest", "512 as the others", waitedSeconds*(512-256)/1024.0, p.lambdaSecond,
		fmt.Sprintf("for each million of waits of %d s, which this bill has none of", waitedSeconds))
	choice("Lambda's own log lines", "none (SystemLogLevel WARN)", -(functionCalls-1)*(lambdaBytes+lambdaLines*logLineBytes)/gigabyte, p.logBytes,
		"not taken: they have the start-up times and the memory in use")

	for _, mb := range []int{128, 256, 512, 1024, 1769} {
		calls, relays, _ := s.computing(mb)
		o := report.Operations["reply"]
		m.Memory = append(m.Memory, Memory{mb, milliseconds(o.CPU, float64(o.RoundTrips), mb), (calls + relays) * p.lambdaSecond.Dollars * million})
	}
	m.Assumed = []string{
		fmt.Sprintf("a processor like this machine's for each %d MB of memory", vcpuMB),
		fmt.Sprintf("%d ms to DynamoDB and back, %d to EventBridge", roundTripMs, busMs),
		fmt.Sprintf("a worker's function runs %d ms, beside its calls", workerMs),
		fmt.Sprintf("Lambda's own lines have %d bytes a call", lambdaBytes),
		fmt.Sprintf("beside it, by the month, whatever is called: %s", monthly()),
		"no free tier, no discount; keys known, functions warm, no webhook, no held call",
	}
	m.Prices = []price{
		p.writeUnit, p.readUnit, p.tableStorage, p.recovery, p.streamRead, p.lambdaRequest, p.lambdaSecond, p.lambdaSecondX86,
		p.restRequest, p.httpRequest, p.firewallRequest, p.busEvent, p.logBytes, p.transfer, p.customMetric,
	}
	return m
}

const (
	heldSeconds   = 3
	waitedSeconds = 55
	// call is what a call costs before anything is done in it.
	call = (3.50 + 0.60 + 0.20) / million
)

// held is what it costs to hold a call in a function of 512 MB, which looks about once a second.
func held(seconds float64) float64 {
	return seconds * (memoryMB/1024.0*prices.lambdaSecond.Dollars + prices.readUnit.Dollars)
}

// triedAgainst is what was thought of against the dearest item, with its arithmetic.
func triedAgainst(i Item) []string {
	switch i.Name {
	case "API Gateway: calls":
		http, rest := prices.httpRequest.Dollars*million, prices.restRequest.Dollars*million
		return []string{
			fmt.Sprintf("HTTP API, $%.2f a million calls instead of $%.2f: $%.2f less; but responses don't stream there, and it has no firewall, usage plans or answers of its own for what is too large or not routed", http, rest, i.Units*(rest-http)),
			fmt.Sprintf("function URLs, no price a call: $%.2f less; but each function has a host name of its own, and a CDN with the firewall before them takes about what HTTP API does", i.Dollars),
			fmt.Sprintf("fewer calls: a send or read with ?wait= saves a read ($%.2f a million) and costs $%.2f a second held, so it is cheaper up to %.1f s; a worker started by the bus has its task in the event, and needs no read at all; claim hands out up to 10 tasks a call", call*million, held(1)*million, call/held(1)),
		}
	default:
		return []string{"see what was chosen, below"}
	}
}

func growth(operation string, messages int) Cost {
	for _, g := range report.Growth[operation] {
		if g.Messages == messages {
			return g.Cost
		}
	}
	return Cost{}
}

// monthly is what is paid whatever is called, as far as this module has it; infra/ adds alarms, dashboard and firewall.
func monthly() string {
	names, err := os.ReadFile("../metrics/names.go")
	if err != nil {
		return err.Error()
	}
	template, err := os.ReadFile("../../template.yaml")
	if err != nil {
		return err.Error()
	}
	n := len(regexp.MustCompile(`= Metric\{`).FindAll(names, -1))
	endpoints := strings.Count(string(template), "CodeUri: functions/")
	calls := float64(strings.Count(string(template), "rate(1 minute)")) * 60 * 24 * 30
	return fmt.Sprintf("%d metrics $%.2f (with one for each of %d functions it would be $%.0f), %.0f calls by the minute $%.2f",
		n, float64(n)*prices.customMetric.Dollars, endpoints, float64(n*endpoints)*prices.customMetric.Dollars,
		calls, calls*prices.lambdaRequest.Dollars)
}

// print prints the bill.
func (m Million) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\na million tasks: $%.2f (%s, prices of %s)\t$\tshare\tunits a task\n", m.Dollars, m.Region, m.Seen)
	for _, i := range m.Items {
		fmt.Fprintf(w, "%s\t%.2f\t%.1f %%\t%.4g × %s\n", i.Name, i.Dollars, 100*i.Share, i.Units, i.Unit)
	}
	w.Flush()
	fmt.Fprintf(out, "\nthe dearest item is \"%s\"; tried against it:\n", m.Largest)
	for _, t := range m.Tried {
		fmt.Fprintln(out, "-", t)
	}
	fmt.Fprintf(w, "\nwhat was chosen\tinstead of\tsaves $\t\n")
	for _, c := range m.Choices {
		fmt.Fprintf(w, "%s\t%s\t%.2f\t%s\n", c.Made, c.Instead, c.Dollars, c.Note)
	}
	w.Flush()
	fmt.Fprintf(w, "\nmemory of the functions, MB\tms of a reply\t$ for their time\n")
	for _, size := range m.Memory {
		fmt.Fprintf(w, "%d\t%.1f\t%.2f\n", size.MB, size.Milliseconds, size.Dollars)
	}
	w.Flush()
	fmt.Fprintln(out, "\nassumed, where it can't be measured here:")
	for _, a := range m.Assumed {
		fmt.Fprintln(out, "-", a)
	}
}
