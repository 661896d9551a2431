package relay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"baton/internal/relay"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
)

// aConversation is a task's changes from the send to the end, eight events in all: two for the worker, four for the
// requester of which one is the resumption.
func aConversation(k *talk) []events.DynamoDBEventRecord {
	records := []events.DynamoDBEventRecord{
		k.next(task.CauseSent, "refund order 7"),
		k.next(task.CauseReply, "looking"),
	}
	k.State = task.InputRequired
	records = append(records, k.next(task.CauseReply, "how much?"), k.next(task.CauseMessage, "12.50"))
	k.State = task.Completed
	return append(records, k.next(task.CauseReply, "done"))
}

func TestConversationIsTold(t *testing.T) {
	w := newWorld(t)
	requester, worker := task.NewID(), task.NewID()
	asking, doing := w.listen(requester), w.listen(worker)
	if again := w.deliver(aConversation(w.talk(requester, worker))...); again != nil {
		t.Fatalf("%v must come again", again)
	}
	var types []string
	for _, e := range w.entries(worker) {
		types = append(types, string(e.Type))
	}
	if got := strings.Join(types, " "); got != "a2a.task.created a2a.task.message" {
		t.Errorf("the worker is told %s", got)
	}
	if got := len(w.entries(requester)); got != 4 {
		t.Errorf("the requester is told %d times, want 4", got)
	}
	if got := asking.sequences(); !slices.Equal(got, upTo(4)) {
		t.Errorf("the requester's bus had %v", got)
	}
	if got := doing.sequences(); !slices.Equal(got, upTo(2)) {
		t.Errorf("the worker's bus had %v", got)
	}
	for _, h := range doing.got {
		if h.Source != "baton.a2a" || h.DetailType != h.Detail.Type || h.Detail.Payload.Message == nil {
			t.Errorf("heard %+v", h)
		}
	}
}

func TestOneOrganizationOnBothSides(t *testing.T) {
	w := newWorld(t)
	both := task.NewID()
	w.listen(both)
	k := w.talk(both, both)
	w.deliver(k.next(task.CauseSent, "x"), k.next(task.CauseCanceled, ""))
	var types []string
	for _, e := range w.entries(both) {
		types = append(types, string(e.Type))
	}
	if got := strings.Join(types, " "); got != "a2a.task.created a2a.task.canceled a2a.sent_task.updated" {
		t.Errorf("logged %s", got)
	}
}

func TestOlderTypeIsASecondEventOfTheSameEntry(t *testing.T) {
	w := newWorld(t)
	w.old = true
	requester := task.NewID()
	l := w.listen(requester)
	k := w.talk(requester, requester)
	w.deliver(k.next(task.CauseSent, "x"), k.next(task.CauseReply, "y"))
	if n := len(w.entries(requester)); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
	count := map[string]int{}
	for _, h := range l.hear() {
		count[h.DetailType]++
	}
	if len(count) != 3 || count["a2a.task.updated"] != 1 {
		t.Errorf("heard %v", count)
	}
}

func TestRepetition(t *testing.T) {
	w := newWorld(t)
	requester, worker := task.NewID(), task.NewID()
	w.listen(requester)
	w.listen(worker)
	k := w.talk(requester, worker)
	records := []events.DynamoDBEventRecord{k.next(task.CauseSent, "x")}
	for range 99 {
		records = append(records, k.next(task.CauseReply, "y"))
	}
	for _, row := range []struct {
		name   string
		repeat func()
	}{
		{"the same batch twice", func() { w.deliver(records...); w.deliver(records...) }},
		{"in two halves", func() { w.deliver(records[:50]...); w.deliver(records[50:]...) }},
		{"halves that overlap", func() { w.deliver(records[:70]...); w.deliver(records[30:]...) }},
		{"a piece out of the middle", func() { w.deliver(records[40:60]...) }},
	} {
		row.repeat()
		if n := len(w.entries(requester)); n != 99 {
			t.Errorf("%s: %d entries for the requester, want 99", row.name, n)
		}
		if n := len(w.entries(worker)); n != 1 {
			t.Errorf("%s: %d entries for the worker, want 1", row.name, n)
		}
		if t.Failed() {
			return
		}
	}
}

func TestTwoShardsAtOnce(t *testing.T) {
	w := newWorld(t)
	requester, worker := task.NewID(), task.NewID()
	w.listen(requester)
	l := w.listen(worker)
	const shards, tasks = 4, 6
	var wait sync.WaitGroup
	for range shards {
		var records []events.DynamoDBEventRecord
		for range tasks {
			records = append(records, aConversation(w.talk(requester, worker))...)
		}
		for range 2 { // each batch twice, at the same time
			wait.Go(func() {
				for w.deliver(records...) != nil {
				}
			})
		}
	}
	wait.Wait()
	if n := len(w.entries(worker)); n != 2*shards*tasks {
		t.Errorf("%d entries for the worker, want %d", n, 2*shards*tasks)
	}
	if n := len(w.entries(requester)); n != 4*shards*tasks {
		t.Errorf("%d entries for the requester, want %d", n, 4*shards*tasks)
	}
	if got := l.sequences(); !slices.Equal(got, upTo(2*shards*tasks)) {
		t.Errorf("the bus had %v", got)
	}
}

func TestFailureInTheMiddle(t *testing.T) {
	for _, fault := range []string{"refused", "lost"} {
		t.Run(fault, func(t *testing.T) {
			w := newWorld(t)
			requester := task.NewID()
			l := w.listen(requester)
			k := w.talk(requester, requester)
			k.next(task.CauseSent, "x")
			var records []events.DynamoDBEventRecord
			for range 120 {
				records = append(records, k.next(task.CauseReply, "y"))
			}
			f := w.faults.On("TransactWriteItems").After(1)
			if fault == "lost" {
				f.Lose()
			} else {
				f.Refuse()
			}
			again := w.deliver(records...)
			if len(again) != 120-49 || again[0] != records[49].Change.SequenceNumber {
				t.Fatalf("%d records must come again, from %s", len(again), again[0])
			}
			// The event source gives all again from the first that failed.
			if again := w.deliver(records[49:]...); again != nil {
				t.Errorf("%d records must come a third time", len(again))
			}
			if n := len(w.entries(requester)); n != 120 {
				t.Errorf("%d entries, want 120", n)
			}
			if got := l.sequences(); !slices.Equal(got, upTo(120)) {
				t.Errorf("the bus had %v", got)
			}
		})
	}
}

func TestOneOrganizationsFailureIsNotAnothers(t *testing.T) {
	w := newWorld(t)
	good, bad := task.NewID(), task.NewID()
	w.listen(good)
	w.listen(bad)
	a, b := w.talk(good, good), w.talk(bad, bad)
	first, second := a.next(task.CauseSent, "x"), b.next(task.CauseSent, "x")
	marker := idBytes(bad)
	w.faults.On("GetItem").Containing(marker).Refuse()
	if again := w.deliver(first, second); !slices.Equal(again, []string{second.Change.SequenceNumber}) {
		t.Errorf("%v must come again, want only the other organization's", again)
	}
	if n := len(w.entries(good)); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}

func idBytes(id task.ID) string {
	text, _ := json.Marshal(append([]byte{'H'}, id[:]...))
	return strings.Trim(string(text), `"`)
}

func TestOrderWithinABatchIsTheTasks(t *testing.T) {
	w := newWorld(t)
	requester := task.NewID()
	w.listen(requester)
	var records []events.DynamoDBEventRecord
	for range 5 {
		records = append(records, aConversation(w.talk(requester, requester))...)
	}
	rand.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	w.deliver(records...)
	if n := len(w.entries(requester)); n != 30 { // which looks at each task's order
		t.Errorf("%d entries, want 30", n)
	}
}

func TestFailedEntryIsSentAgainAlone(t *testing.T) {
	w := newWorld(t)
	requester := task.NewID()
	w.listen(requester)
	k := w.talk(requester, requester)
	k.next(task.CauseSent, "x")
	var records []events.DynamoDBEventRecord
	for range 7 {
		records = append(records, k.next(task.CauseReply, "y"))
	}
	w.faults.On("PutEvents").Rewrite(failEntry(2))
	w.faults.On("PutEvents").Rewrite(failEntry(0))
	if again := w.deliver(records...); again != nil {
		t.Fatalf("%v must come again", again)
	}
	sent := map[int64]int{}
	for _, call := range w.faults.Calls() {
		if call.Operation != "PutEvents" {
			continue
		}
		var in struct{ Entries []struct{ Detail string } }
		json.Unmarshal(call.Request, &in)
		for _, e := range in.Entries {
			var detail struct{ Sequence int64 }
			json.Unmarshal([]byte(e.Detail), &detail)
			sent[detail.Sequence]++
		}
	}
	for sequence := range int64(7) {
		want := 1
		if sequence+1 == 3 {
			want = 3
		}
		if sent[sequence+1] != want {
			t.Errorf("entry %d was sent %d times, want %d", sequence+1, sent[sequence+1], want)
		}
	}
	if head := w.head(requester); head.ParkedFrom != 0 {
		t.Errorf("parked from %d", head.ParkedFrom)
	}
}

// failEntry makes an answer of PutEvents say that an entry failed.
func failEntry(i int) func([]byte) []byte {
	return func(body []byte) []byte {
		var out struct {
			FailedEntryCount int
			Entries          []map[string]string
		}
		json.Unmarshal(body, &out)
		out.FailedEntryCount = 1
		out.Entries[i] = map[string]string{"ErrorCode": "InternalFailure", "ErrorMessage": "made by the test"}
		body, _ = json.Marshal(out)
		return body
	}
}

func TestPoisonAmongGoodRecords(t *testing.T) {
	w := newWorld(t)
	requester, worker := task.NewID(), task.NewID()
	w.listen(requester)
	l := w.listen(worker)
	var records []events.DynamoDBEventRecord
	for range 10 {
		records = append(records, w.talk(requester, worker).next(task.CauseSent, "x"))
	}
	id := task.NewID()
	poison := recordOf(id, 1)
	poison.Change.NewImage = map[string]events.DynamoDBAttributeValue{
		"p": poison.Change.Keys["p"], "s": poison.Change.Keys["s"], "poison": events.NewStringAttribute("yes"),
	}
	records = append(records, poison)
	for range 10 {
		records = append(records, w.talk(requester, worker).next(task.CauseSent, "x"))
	}
	if again := w.deliver(records...); again != nil {
		t.Errorf("%v must come again, want none", again)
	}
	if n := len(w.entries(worker)); n != 20 {
		t.Errorf("%d entries, want 20", n)
	}
	if got := l.sequences(); !slices.Equal(got, upTo(20)) {
		t.Errorf("the bus had %v", got)
	}
	failed := w.drain(w.failed)
	if len(failed) != 1 || !strings.Contains(failed[0], id.String()) || !strings.Contains(failed[0], poison.Change.SequenceNumber) {
		t.Errorf("the failure queue holds %v", failed)
	}
}

func TestLongTextIsCutAtACharacter(t *testing.T) {
	w := newWorld(t)
	requester := task.NewID()
	l := w.listen(requester)
	k := w.talk(requester, requester)
	text := strings.Repeat("𝔘日", 390_000/7)
	w.deliver(k.next(task.CauseSent, text), k.next(task.CauseReply, text))
	if n := len(l.hear()); n != 2 {
		t.Fatalf("heard %d events, want 2", n)
	}
	for _, call := range w.faults.Calls() { // the local AWS escapes what it hands on
		var in struct {
			Entries []struct{ Source, DetailType, Detail string }
		}
		if json.Unmarshal(call.Request, &in); call.Operation != "PutEvents" {
			continue
		}
		for _, e := range in.Entries {
			if size := len(e.Source) + len(e.DetailType) + len(e.Detail); size >= 64<<10 || size < 60<<10 {
				t.Errorf("an entry of %d bytes", size)
			}
		}
	}
	for _, h := range l.got {
		if !h.Detail.Payload.MessageTruncated || !strings.HasPrefix(text, *h.Detail.Payload.Message) {
			t.Errorf("not flagged, or not cut at a character: …%q", (*h.Detail.Payload.Message)[len(*h.Detail.Payload.Message)-8:])
		}
		if len(*h.Detail.Payload.Message) < 30_000 {
			t.Errorf("only %d bytes are left", len(*h.Detail.Payload.Message))
		}
	}
}

func TestCrashBetweenLogAndBusLosesNothing(t *testing.T) {
	w := newWorld(t)
	requester := task.NewID()
	l := w.listen(requester)
	k := w.talk(requester, requester)
	records := aConversation(k)
	ctx, crash := context.WithCancel(t.Context())
	w.faults.On("PutEvents").Hold(crash)
	if again := w.deliverIn(ctx, records...); len(again) != len(records) {
		t.Fatalf("%d records must come again, want %d", len(again), len(records))
	}
	logged := len(w.entries(requester))
	if logged != 6 {
		t.Fatalf("%d entries, want 6", logged)
	}
	if again := w.deliver(records...); again != nil {
		t.Errorf("%v must come a third time", again)
	}
	if n := len(w.entries(requester)); n != logged {
		t.Errorf("%d entries, want %d", n, logged)
	}
	if got := l.sequences(); !slices.Equal(got, upTo(6)) {
		t.Errorf("the bus had %v", got)
	}
	if w.faults.Count("DescribeEventBus") < 2 {
		t.Error("a batch that was logged before must look at the bus itself")
	}
}

func TestUnits(t *testing.T) {
	w := newWorld(t)
	requester := task.NewID()
	w.listen(requester)
	k := w.talk(requester, requester)
	w.deliver(k.next(task.CauseSent, "x"))
	var records []events.DynamoDBEventRecord
	for range 49 {
		records = append(records, k.next(task.CauseReply, strings.Repeat("日", 90)))
	}
	w.faults.Reset()
	w.deliver(records...)
	_, write := w.faults.Units()
	if write != 4*49+2 {
		t.Errorf("49 events cost %v write units, want %d", write, 4*49+2)
	}
	if calls := w.faults.Count("TransactWriteItems"); calls != 1 {
		t.Errorf("%d transactions, want 1", calls)
	}
	for _, c := range w.faults.Calls() {
		if bytes.Contains(c.Request, []byte("日日")) && c.Operation == "PutEvents" {
			return
		}
	}
	t.Error("nothing was sent")
}

// hooks note of what they are told, or fail.
type hooks struct {
	sync.Mutex
	told []int64
	fail error
}

func (h *hooks) Listening(context.Context, task.ID) (func(context.Context, []task.Event) error, error) {
	return func(_ context.Context, events []task.Event) error {
		h.Lock()
		defer h.Unlock()
		if h.fail != nil {
			return h.fail
		}
		for _, e := range events {
			h.told = append(h.told, e.Sequence)
		}
		return nil
	}, nil
}

func TestHooksAreToldWhetherThereIsABusOrNot(t *testing.T) {
	w := newWorld(t)
	h := &hooks{fail: task.ErrUnavailable}
	w.relay = relay.New(w.log, relay.NewBuses(w.buses, w.prefix), w.book, w.book, h, relay.NewFailureQueue(w.queues, w.failed))
	org := task.NewID()
	k := w.talk(org, org)
	records := []events.DynamoDBEventRecord{k.next(task.CauseSent, "x"), k.next(task.CauseReply, "y")}
	if again := w.deliver(records...); len(again) != 2 {
		t.Errorf("%v must come again, want both", again)
	}
	h.fail = nil
	if again := w.deliver(records...); again != nil {
		t.Errorf("%v must come again", again)
	}
	if !slices.Equal(h.told, upTo(2)) {
		t.Errorf("told of %v", h.told)
	}
	if failed := w.drain(w.failed); failed != nil {
		t.Errorf("in the failure queue: %v", failed)
	}
	h.fail = errors.New("a hook that can't be read")
	if again := w.deliver(k.next(task.CauseReply, "z")); again != nil {
		t.Errorf("%v must come again: no later try would tell it", again)
	}
	if failed := w.drain(w.failed); len(failed) != 1 {
		t.Errorf("in the failure queue: %v", failed)
	}
}

func TestTextThatCanNotBeReadStopsNoLog(t *testing.T) {
	w := newWorld(t)
	org := task.NewID()
	l := w.listen(org)
	k := w.talk(org, org)
	k.Result, k.ResultChange = task.Clip{Text: "the beginning", Cut: true}, 77 // of which there is none
	if again := w.deliver(k.next(task.CauseSent, "x")); again != nil {
		t.Errorf("%v must come again", again)
	}
	heard := l.hear()
	if len(heard) != 1 || *heard[0].Detail.Payload.Result != "the beginning" || !heard[0].Detail.Payload.MessageTruncated {
		t.Errorf("heard %+v", heard)
	}
}
