package relay_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"baton/internal/relay"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
)

// replies are n changes of one task that each make one event.
func replies(k *talk, n int) (records []events.DynamoDBEventRecord) {
	for range n {
		records = append(records, k.next(task.CauseReply, "y"))
	}
	return records
}

func TestRefusingBusIsParkedAndCaughtUp(t *testing.T) {
	w := newWorld(t)
	broken, fine := task.NewID(), task.NewID()
	l, other := w.listen(broken), w.listen(fine)
	a, b := w.talk(broken, broken), w.talk(fine, fine)
	a.next(task.CauseSent, "x")
	b.next(task.CauseSent, "x")
	w.deliver(replies(a, 3)...)

	w.faults.On("PutEvents").Containing(broken.String()).Always().Fail(500, "InternalFailure")
	if again := w.deliver(slices.Concat(replies(a, 4), replies(b, 2))...); again != nil {
		t.Errorf("%v must come again: a bus fails no batch", again)
	}
	if head := w.head(broken); head.ParkedFrom != 4 {
		t.Errorf("parked from %d, want 4", head.ParkedFrom)
	}
	if got := other.sequences(); !slices.Equal(got, upTo(2)) {
		t.Errorf("the other organization's bus had %v", got)
	}
	if err := w.unpark.All(t.Context()); err != nil {
		t.Fatal(err)
	}
	if head := w.head(broken); head.ParkedFrom != 4 {
		t.Errorf("parked from %d while the bus refuses, want 4", head.ParkedFrom)
	}

	w.faults.Reset()
	w.deliver(replies(a, 2)...)
	if n := w.faults.Count("PutEvents"); n != 0 {
		t.Errorf("%d calls to a parked bus", n)
	}
	if err := w.unpark.All(t.Context()); err != nil {
		t.Fatal(err)
	}
	if head := w.head(broken); head.ParkedFrom != 0 {
		t.Errorf("still parked from %d", head.ParkedFrom)
	}
	if got := l.sequences(); !slices.Equal(got, upTo(9)) {
		t.Errorf("the bus had %v", got)
	}
	var order []int64
	for _, h := range l.got[3:] {
		order = append(order, h.Detail.Sequence)
	}
	if !slices.IsSorted(order) {
		t.Errorf("caught up in the order %v", order)
	}
	w.deliver(replies(a, 1)...)
	if got := l.sequences(); !slices.Equal(got, upTo(10)) {
		t.Errorf("after that the bus had %v", got)
	}
}

func TestBusToBeMadeIsParkedFromTheStart(t *testing.T) {
	w := newWorld(t)
	pending := task.NewID()
	k := w.talk(pending, pending)
	k.next(task.CauseSent, "x")
	w.deliver(replies(k, 60)...)
	if head := w.head(pending); head.ParkedFrom != 1 {
		t.Fatalf("parked from %d, want 1", head.ParkedFrom)
	}
	if err := w.unpark.All(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := w.listen(pending)
	if err := w.unpark.All(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := l.sequences(); !slices.Equal(got, upTo(60)) {
		t.Errorf("the bus had %v", got)
	}
	if len(l.got) != 60 {
		t.Errorf("the bus had %d events, want each once", len(l.got))
	}
}

func TestDeletedBusIsNoticed(t *testing.T) {
	w := newWorld(t)
	org, k := w.ownTask()
	l := w.listen(org)
	round := func() {
		t.Helper()
		w.clock.Forward(time.Minute)
		if err := w.check.All(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.deliver(replies(k, 5)...)
	round()
	round()
	if head := w.head(org); head.BusOK != 5 {
		t.Fatalf("known to have arrived up to %d, want 5", head.BusOK)
	}
	w.faults.Reset()
	round()
	if n := w.faults.Count("DescribeEventBus"); n != 0 {
		t.Errorf("%d looks at a bus to which nothing went", n)
	}

	w.deliver(replies(k, 2)...)
	round() // 6 and 7 are not yet known to have arrived
	l.hear()
	w.dropBus(org)
	w.deliver(replies(k, 3)...) // EventBridge takes and drops them
	if head := w.head(org); head.ParkedFrom != 0 {
		t.Fatalf("parked from %d before the round", head.ParkedFrom)
	}
	round()
	if head := w.head(org); head.ParkedFrom != 6 {
		t.Fatalf("parked from %d, want 6", head.ParkedFrom)
	}
	w.deliver(replies(k, 1)...)
	time.Sleep(1100 * time.Millisecond) // the local AWS tells buses apart by the second
	back := w.listen(org)
	if err := w.unpark.All(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := back.sequences(); !slices.Equal(got, []int64{6, 7, 8, 9, 10, 11}) {
		t.Errorf("the new bus had %v", got)
	}
	if head := w.head(org); head.ParkedFrom != 0 {
		t.Errorf("still parked from %d", head.ParkedFrom)
	}
}

func TestBusDeletedAndMadeAgainBetweenTwoRounds(t *testing.T) {
	w := newWorld(t)
	org, k := w.ownTask()
	w.listen(org)
	w.deliver(replies(k, 2)...)
	w.dropBus(org)
	w.deliver(replies(k, 3)...)
	time.Sleep(1100 * time.Millisecond)
	back := w.listen(org)
	w.clock.Forward(time.Minute)
	if err := w.check.All(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.unpark.All(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := back.sequences(); !slices.Equal(got, upTo(5)) {
		t.Errorf("the new bus had %v", got)
	}
}

func TestRepeatedBatchLooksAtTheBusItself(t *testing.T) {
	w := newWorld(t)
	org, k := w.ownTask()
	w.listen(org)
	records := replies(k, 3)
	w.deliver(records...)
	for range 2 { // the rounds pass the entries by
		w.clock.Forward(time.Minute)
		if err := w.check.All(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.dropBus(org)
	w.deliver(records...)
	if head := w.head(org); head.ParkedFrom != 1 {
		t.Errorf("parked from %d, want 1", head.ParkedFrom)
	}
}

func TestTwoLooksTooCloseProveNothing(t *testing.T) {
	w := newWorld(t)
	org, k := w.ownTask()
	w.listen(org)
	w.deliver(replies(k, 3)...)
	for range 3 {
		if err := w.check.All(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if head := w.head(org); head.BusOK != 0 {
		t.Errorf("known to have arrived up to %d within a second", head.BusOK)
	}
}

// While an organization is being unparked its log grows: what is appended between the last entry sent and the note that
// nothing waits must still get to the bus.
func TestAppendWhileUnparking(t *testing.T) {
	for name, operation := range map[string]string{
		"before the last entries are sent": "PutEvents",
		"before nothing waits is noted":    "UpdateItem",
		"before what waits is read":        "Query",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			org, k := w.ownTask()
			w.deliver(replies(k, 3)...)
			l := w.listen(org)
			w.unpark.All(t.Context()) // takes note of the bus
			l.hear()
			if err := w.log.Park(t.Context(), org, 2); err != nil {
				t.Fatal(err)
			}
			fault := w.faults.On(operation)
			if operation == "Query" {
				fault = fault.After(1) // the list of those parked
			}
			fault.Hold(func() { w.deliver(replies(k, 2)...) })
			if err := w.unpark.All(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := l.sequences(); !slices.Equal(got, upTo(5)) {
				t.Errorf("the bus had %v", got)
			}
			if head := w.head(org); head.ParkedFrom != 0 {
				t.Errorf("still parked from %d", head.ParkedFrom)
			}
		})
	}
}

// A relay has read that nothing waits; before it appends, another parks the log. It must not send past what waits, and
// what it appends must be sent by whoever unparks.
func TestParkBetweenReadAndAppend(t *testing.T) {
	w := newWorld(t)
	org, k := w.ownTask()
	l := w.listen(org)
	w.deliver(replies(k, 2)...)
	w.faults.On("TransactWriteItems").Hold(func() {
		if err := w.log.Park(t.Context(), org, 2); err != nil {
			t.Error(err)
		}
	})
	w.deliver(replies(k, 2)...)
	if got := l.sequences(); !slices.Equal(got, upTo(2)) {
		t.Errorf("the bus had %v while parked", got)
	}
	if err := w.unpark.All(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := l.sequences(); !slices.Equal(got, upTo(4)) {
		t.Errorf("the bus had %v", got)
	}
}

// Unparking ends between a relay's read of the head and its append: nobody else will send what it appends.
func TestUnparkBetweenReadAndAppend(t *testing.T) {
	w := newWorld(t)
	org, k := w.ownTask()
	l := w.listen(org)
	w.deliver(replies(k, 2)...)
	if err := w.log.Park(t.Context(), org, 2); err != nil {
		t.Fatal(err)
	}
	w.faults.On("TransactWriteItems").Hold(func() {
		if err := w.unpark.All(t.Context()); err != nil {
			t.Error(err)
		}
	})
	w.deliver(replies(k, 2)...)
	if got := l.sequences(); !slices.Equal(got, upTo(4)) {
		t.Errorf("the bus had %v", got)
	}
}

// Many relays, a bus that refuses now and then, crashes, and rounds of unparking, all at once: in the end every entry
// came over the bus.
func TestNothingIsLostInTheThick(t *testing.T) {
	w := newWorld(t)
	org := task.NewID()
	l := w.listen(org)
	var relays, rounds sync.WaitGroup
	for i := range 6 {
		w.faults.On("PutEvents").After(5+4*i).Times(4).Fail(500, "InternalFailure")
		w.faults.On("PutEvents").After(9 + 7*i).Delay(50 * time.Millisecond)
		w.faults.On("TransactWriteItems").After(10 * i).Lose()
		w.faults.On("UpdateItem").After(4 * i).Delay(30 * time.Millisecond)
	}
	stop := make(chan struct{})
	rounds.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				w.unpark.All(t.Context())
				time.Sleep(5 * time.Millisecond)
			}
		}
	})
	const each, batches = 3, 8
	for range 3 {
		k := w.talk(org, org)
		k.next(task.CauseSent, "x")
		relays.Go(func() {
			for range batches {
				records := replies(k, each)
				for w.deliver(records...) != nil {
				}
			}
		})
	}
	relays.Wait()
	close(stop)
	rounds.Wait()
	w.faults.Reset()
	for w.head(org).ParkedFrom != 0 {
		if err := w.unpark.All(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	n := len(w.entries(org))
	if n != 3*each*batches {
		t.Errorf("%d entries, want %d", n, 3*each*batches)
	}
	if got := l.sequences(); !slices.Equal(got, upTo(n)) {
		t.Errorf("the bus had %d of %d", len(got), n)
	}
}

func TestReplay(t *testing.T) {
	w := newWorld(t)
	org := task.NewID()
	replayer := relay.NewReplayer(w.log, relay.NewBuses(w.buses, w.prefix), w.book)
	if _, _, err := replayer.Replay(t.Context(), org, 1, 5); !errors.Is(err, relay.ErrNoBus) {
		t.Errorf("%v, want ErrNoBus", err)
	}
	l := w.listen(org)
	k := w.talk(org, org)
	k.next(task.CauseSent, "x")
	w.deliver(replies(k, 120)...)
	l.hear()
	l.got = nil
	sent, next, err := replayer.Replay(t.Context(), org, 11, 110)
	if err != nil || sent != 100 || next != 111 {
		t.Errorf("sent %d, next is %d, %v", sent, next, err)
	}
	if got := l.sequences(); !slices.Equal(got, upTo(110)[10:]) {
		t.Errorf("the bus had %v", got)
	}
	for _, h := range l.got {
		if !h.Detail.Replay {
			t.Errorf("%d is not marked", h.Detail.Sequence)
		}
	}
	if sent, next, err := replayer.Replay(t.Context(), org, 119, 500); err != nil || sent != 2 || next != 501 {
		t.Errorf("past the end: sent %d, next is %d, %v", sent, next, err)
	}
	if sent, next, err := replayer.Replay(t.Context(), org, 500, 600); err != nil || sent != 0 || next != 601 {
		t.Errorf("behind the end: sent %d, next is %d, %v", sent, next, err)
	}
	if n := len(w.entries(org)); n != 120 {
		t.Errorf("a replay logged: %d entries", n)
	}
}

func TestRedrive(t *testing.T) {
	w := newWorld(t)
	org, k := w.ownTask()
	l := w.listen(org)
	for range 2 {
		if err := w.relay.Redrive(t.Context(), k.Task, 1); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.entries(org)); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
	if got := l.sequences(); !slices.Equal(got, upTo(1)) {
		t.Errorf("the bus had %v", got)
	}
	if err := w.relay.Redrive(t.Context(), task.NewID(), 1); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
}

func TestEventAboutNoTask(t *testing.T) {
	w := newWorld(t)
	org, hook := task.NewID(), task.NewID()
	l := w.listen(org)
	e := task.Event{
		ID: task.EventID(hook, 1, "webhook.disabled"), Type: "webhook.disabled", Organization: org, Task: hook, At: time.Now(),
		Message: task.Clip{None: true}, Result: task.Clip{None: true}, Note: `{"reason":"failing"}`,
	}
	for range 2 {
		if err := w.relay.Tell(t.Context(), org, []task.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	if logged := w.entries(org); len(logged) != 1 || logged[0].Note != e.Note || logged[0].Task != hook {
		t.Errorf("logged %+v", logged)
	}
	if got := l.hear(); len(got) != 2 || got[0].Detail.Type != "webhook.disabled" {
		t.Errorf("heard %+v", got)
	}
}
