package webhook_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"baton/internal/task"
	"baton/internal/webhook"
)

// one is a hook with one event on its way to it.
func (w *world) one() webhook.Hook {
	w.Helper()
	h := w.hook(w.shop, "r", "a2a.task.created")
	w.tell(w.shop, w.event(w.shop, task.NewID(), task.EventCreated))
	return h
}

func TestWhatIsDelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.hook(w.shop, "r", "a2a.task.created")
	e := w.event(w.shop, task.NewID(), task.EventCreated)
	w.tell(w.shop, e)
	w.work()
	got := w.receivers.take("r")
	if len(got) != 1 {
		t.Fatalf("%d requests", len(got))
	}
	a, d := got[0], w.only(h)
	if a.body.ID != e.ID.String() || a.body.Sequence != 1 || a.body.Payload["message"] != "Refund order 4182" || a.body.Payload["task_id"] != e.Task.String() {
		t.Errorf("%s", a.raw)
	}
	if a.id != d.ID.String() || !signed(t, h.Keys.Current, a) || signed(t, webhook.NewSecret(), a) {
		t.Errorf("webhook-id %s, signature %s", a.id, a.header.Get("webhook-signature"))
	}
	if d.Status != webhook.Arrived || d.Tries != 1 || len(d.Attempts) != 1 || d.Attempts[0].Status != 200 || d.Event != e.ID || !d.Due.IsZero() {
		t.Errorf("%+v", d)
	}
}

func TestRetriesGrowUntilTheDeliveryIsParked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.receivers.answer("r", status(500))
	h := w.one()
	w.must(w.sweeper.Sweep(t.Context()))
	w.work()
	pauses := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 24 * time.Hour}
	for i, pause := range pauses {
		d := w.only(h)
		last := d.Attempts[len(d.Attempts)-1].At
		if d.Status != webhook.Pending || d.Tries != i+1 {
			t.Fatalf("after try %d: %+v", i+1, d)
		}
		if got := d.Due.Sub(last); got < pause || got > pause*11/10+time.Second {
			t.Errorf("the pause after try %d is %v, want %v and a tenth at most", i+1, got, pause)
		}
		if early := d.Due.Sub(w.clock.Now()) - time.Minute; early > 0 {
			w.clock.Forward(early)
			w.must(w.sweeper.Sweep(t.Context()))
			w.work()
		}
		if got := len(w.receivers.take("r")); got != 1 {
			t.Errorf("%d requests before try %d is due", got, i+2)
		}
		w.next(h)
	}
	d := w.only(h)
	if d.Status != webhook.Parked || d.Tries != 8 || len(d.Attempts) != 8 || !d.Due.IsZero() || d.Attempts[7].Problem != webhook.ProblemStatus {
		t.Fatalf("%+v", d)
	}
	w.receivers.take("r")
	w.clock.Forward(48 * time.Hour)
	w.must(w.sweeper.Sweep(t.Context()))
	w.work()
	if got := w.receivers.take("r"); len(got) != 0 {
		t.Errorf("%d requests after it was parked", len(got))
	}
	if h := w.stored(h); !h.Enabled || h.FailingSince.IsZero() {
		t.Errorf("%+v", h)
	}
}

func TestADeliveryArrivesAfterFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.receivers.answer("r", status(503))
	h := w.one()
	w.work()
	w.pass(time.Minute)
	if h := w.stored(h); h.FailingSince.IsZero() {
		t.Error("it does not count as failing")
	}
	w.receivers.answer("r", nil)
	w.pass(6 * time.Minute)
	got := w.receivers.take("r")
	if len(got) != 3 || got[0].id != got[2].id {
		t.Errorf("%d requests", len(got))
	}
	if d := w.only(h); d.Status != webhook.Arrived || d.Tries != 3 || d.Attempts[0].Status != 503 || d.Attempts[2].Status != 200 {
		t.Errorf("%+v", d)
	}
	if h := w.stored(h); !h.FailingSince.IsZero() {
		t.Error("it still counts as failing")
	}
}

func TestAReceiverSaysWhenToComeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.receivers.answer("r", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(429)
	})
	h := w.one()
	w.work()
	if d := w.only(h); d.Due.Sub(d.Attempts[0].At) < 10*time.Minute {
		t.Errorf("due %v after the try", d.Due.Sub(d.Attempts[0].At))
	}
}

// A sweep that did not run, for an hour or for a day, is made up for by the next.
func TestSweepsThatDidNotRun(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]time.Duration{"for three hours": 3 * time.Hour, "for a day": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.receivers.answer("r", status(500))
			h := w.one()
			w.work()
			w.pass(7 * time.Minute)
			if d := w.only(h); d.Tries != 3 || d.Due.Sub(w.clock.Now()) < 20*time.Minute {
				t.Fatalf("%+v", d)
			}
			w.receivers.answer("r", nil)
			w.clock.Forward(out)
			w.work()
			if d := w.only(h); d.Status != webhook.Pending {
				t.Fatal("nothing but a sweep should have taken it up")
			}
			w.must(w.sweeper.Sweep(t.Context()))
			w.work()
			if d := w.only(h); d.Status != webhook.Arrived || d.Tries != 4 {
				t.Errorf("%+v", d)
			}
			w.must(w.sweeper.Sweep(t.Context()))
			w.work()
			if got := len(w.receivers.take("r")); got != 4 {
				t.Errorf("%d requests", got)
			}
		})
	}
}

// A sweep that breaks off begins again where it was, and what it had queued already is still delivered once.
func TestASweepThatBreaksOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.receivers.answer("r", status(500))
	w.one()
	w.work()
	w.pass(7 * time.Minute)
	w.receivers.take("r")
	w.receivers.answer("r", nil)
	w.clock.Forward(2 * time.Hour)
	w.faults.On("PutItem").Times(3).Refuse()
	for range 3 {
		if w.sweeper.Sweep(t.Context()) == nil {
			t.Fatal("it must say that it broke off")
		}
	}
	w.must(w.sweeper.Sweep(t.Context()))
	w.work()
	if got := len(w.receivers.take("r")); got != 1 {
		t.Errorf("%d requests", got)
	}
}

// One receiver that hangs holds up its own deliveries alone.
func TestADeadReceiverSlowsNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := make(chan struct{})
	w.receivers.answer("dead", func(http.ResponseWriter, *http.Request) { <-release })
	w.hook(w.shop, "dead", "a2a.task.created")
	w.hook(w.shop, "alive", "a2a.task.created")
	var told []task.Event
	for range 5 {
		told = append(told, w.event(w.shop, task.NewID(), task.EventCreated))
	}
	w.tell(w.shop, told...)
	batch := w.receive()
	if len(batch) != 10 {
		t.Fatalf("a batch of %d", len(batch))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.handle(batch)
	}()
	began, alive := time.Now(), 0
	for alive < 5 && time.Since(began) < 5*time.Second {
		alive += len(w.receivers.take("alive"))
		time.Sleep(5 * time.Millisecond)
	}
	took := time.Since(began)
	close(release)
	<-done
	if alive != 5 || took > 2*time.Second {
		t.Errorf("%d of 5 deliveries beside a dead receiver in %v", alive, took)
	}
}

// The worker may die anywhere; the queue then gives its message again.
func TestAWorkerThatDies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer   int
		die      func(w *world)
		requests int
		tries    int
		status   webhook.Status
	}{
		"before it sends":                   {200, func(w *world) { w.faults.On("GetItem").Refuse() }, 1, 1, webhook.Arrived},
		"between the answer and the write":  {200, func(w *world) { w.faults.On("PutItem").Refuse() }, 2, 1, webhook.Arrived},
		"behind the write":                  {200, func(w *world) { w.faults.On("PutItem").Lose() }, 1, 1, webhook.Arrived},
		"behind the write of a failure":     {500, func(w *world) { w.faults.On("PutItem").Lose() }, 1, 1, webhook.Pending},
		"between a failure and its write":   {500, func(w *world) { w.faults.On("PutItem").Refuse() }, 2, 1, webhook.Pending},
		"before it notes that a hook fails": {500, func(w *world) { w.faults.On("TransactWriteItems").Refuse() }, 2, 1, webhook.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.receivers.answer("r", status(c.answer))
			h := w.one()
			c.die(w)
			if failed := w.handle(w.receive()); failed != 1 {
				t.Fatalf("%d messages failed, want 1", failed)
			}
			w.work()
			d := w.only(h)
			if got := w.receivers.take("r"); len(got) != c.requests || len(got) == 2 && got[0].id != got[1].id {
				t.Errorf("%d requests, want %d, of one id", len(got), c.requests)
			}
			if d.Tries != c.tries || d.Status != c.status {
				t.Errorf("%+v", d)
			}
			if c.status == webhook.Pending {
				w.receivers.answer("r", nil)
				w.clock.Forward(6 * time.Second)
				w.work()
				if d := w.only(h); d.Status != webhook.Arrived || d.Tries != 2 || len(w.receivers.take("r")) != 1 {
					t.Errorf("it did not go on: %+v", d)
				}
			}
		})
	}
}

// The failure stands in the table and the next try is not queued: the message that comes again queues it.
func TestAWorkerThatDiesBetweenWriteAndQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.receivers.answer("r", status(500))
	h := w.one()
	whole := w.worker
	w.worker = w.workerOn(refusing{})
	if failed := w.handle(w.receive()); failed != 1 {
		t.Fatalf("%d messages failed, want 1", failed)
	}
	w.worker = whole
	w.work()
	if got := len(w.receivers.take("r")); got != 1 {
		t.Errorf("%d requests", got)
	}
	w.receivers.answer("r", nil)
	w.clock.Forward(6 * time.Second)
	w.work()
	if d := w.only(h); d.Status != webhook.Arrived || d.Tries != 2 {
		t.Errorf("%+v", d)
	}
}

func TestSecretsRotate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.hook(w.shop, "r", "a2a.task.created")
	rotated, err := w.service.Rotate(t.Context(), w.shop, h.ID, "")
	w.must(err)
	last := func() arrival {
		t.Helper()
		w.tell(w.shop, w.event(w.shop, task.NewID(), task.EventCreated))
		w.work()
		got := w.receivers.take("r")
		if len(got) != 1 {
			t.Fatalf("%d requests", len(got))
		}
		return got[0]
	}
	if a := last(); !signed(t, h.Keys.Current, a) || !signed(t, rotated.Keys.Current, a) || len(strings.Fields(a.header.Get("webhook-signature"))) != 2 {
		t.Errorf("right after: %s", a.header.Get("webhook-signature"))
	}
	w.clock.Forward(24*time.Hour - time.Minute)
	if a := last(); !signed(t, h.Keys.Current, a) || !signed(t, rotated.Keys.Current, a) {
		t.Error("both secrets must sign for 24 h")
	}
	w.clock.Forward(2 * time.Minute)
	if a := last(); signed(t, h.Keys.Current, a) || !signed(t, rotated.Keys.Current, a) {
		t.Error("after 24 h the new secret signs alone")
	}
}

func TestRedeliver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.receivers.answer("r", status(500))
	h := w.one()
	w.work()
	for range webhook.MaxTries - 1 {
		w.next(h)
	}
	first := w.only(h)
	if first.Status != webhook.Parked {
		t.Fatalf("%+v", first)
	}
	id := w.receivers.take("r")[0].id
	again := func() webhook.Delivery {
		t.Helper()
		d, err := w.service.Redeliver(t.Context(), w.shop, h.ID, first.ID)
		w.must(err)
		if d.Status != webhook.Pending || d.Tries != 0 {
			t.Fatalf("%+v", d)
		}
		w.work()
		return w.only(h)
	}
	if d := again(); d.Status != webhook.Pending || d.Tries != 1 || len(d.Attempts) != 9 {
		t.Errorf("a receiver that still fails has all its tries again: %+v", d)
	}
	w.receivers.answer("r", nil)
	for range 2 { // of what was parked, then of what arrived
		w.receivers.take("r")
		if d := again(); d.Status != webhook.Arrived || d.Tries != 1 {
			t.Errorf("%+v", d)
		}
		if got := w.receivers.take("r"); len(got) != 1 || got[0].id != id {
			t.Errorf("%d requests", len(got))
		}
	}
	if d := w.only(h); len(d.Attempts) != 10 {
		t.Errorf("%d attempts are kept", len(d.Attempts))
	}
	for name, c := range map[string][3]task.ID{
		"another organization":   {task.NewID(), h.ID, first.ID},
		"another hook":           {w.shop, w.hook(w.shop, "s", "a2a.task.created").ID, first.ID},
		"no such delivery":       {w.shop, h.ID, task.NewID()},
		"an event not delivered": {w.shop, h.ID, webhook.DeliveryID(h.ID, 99, task.EventCreated)},
	} {
		if _, err := w.service.Redeliver(t.Context(), c[0], c[1], c[2]); err != webhook.ErrNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// disabled are the events of that type in the organization's log.
func (w *world) disabled(organization task.ID) (events []task.Event) {
	w.Helper()
	return slices.DeleteFunc(w.entries(organization), func(e task.Event) bool { return e.Type != webhook.EventDisabled })
}

func TestAHookThatOnlyFailsIsDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.receivers.answer("r", status(500))
	h := w.hook(w.shop, "r", "a2a.task.created", "webhook.disabled")
	w.hook(w.shop, "watch", "webhook.disabled")
	w.must(w.sweeper.Sweep(t.Context()))
	fails := func(tries int) {
		t.Helper()
		w.tell(w.shop, w.event(w.shop, task.NewID(), task.EventCreated))
		w.work()
		for range tries - 1 {
			w.next(h)
		}
	}
	fails(8)
	if !w.stored(h).Enabled {
		t.Fatal("disabled by one delivery that was parked")
	}
	w.clock.Forward(5 * 24 * time.Hour)
	fails(3)
	if !w.stored(h).Enabled {
		t.Fatal("disabled by a delivery that had not half an hour's worth of tries")
	}
	w.next(h)
	got := w.stored(h)
	if got.Enabled || got.Disabled != webhook.ReasonFailing {
		t.Fatalf("%+v", got)
	}
	if all := w.disabled(w.shop); len(all) != 1 || all[0].Task != h.ID || !all[0].Identity.IsZero() {
		t.Errorf("%+v", all)
	}
	told := w.receivers.take("watch")
	if len(told) != 1 || told[0].body.IdentityID != nil || told[0].body.Payload["webhook_id"] != h.ID.String() || told[0].body.Payload["reason"] != "failing" {
		t.Errorf("%+v", told)
	}
	w.receivers.take("r")
	w.tell(w.shop, w.event(w.shop, task.NewID(), task.EventCreated))
	w.clock.Forward(time.Hour)
	w.must(w.sweeper.Sweep(t.Context()))
	w.work()
	if got := w.receivers.take("r"); len(got) != 0 {
		t.Errorf("%d requests to a disabled hook", len(got))
	}
}

func TestA410DisablesAtOnceAndSaysSoOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.receivers.answer("r", status(410))
	h := w.hook(w.shop, "r", "a2a.task.created")
	w.tell(w.shop, w.event(w.shop, task.NewID(), task.EventCreated), w.event(w.shop, task.NewID(), task.EventCreated))
	// The worker dies between telling it and noting it, and another write of the hook comes between.
	w.faults.On("TransactWriteItems").Containing("enablings").Refuse()
	batch := w.receive()
	w.handle(batch[:1])
	w.edit(h, webhook.Edit{Events: &[]string{"a2a.task.created", "a2a.task.message"}})
	w.handle(batch[1:])
	w.work()
	if got := w.stored(h); got.Enabled || got.Disabled != webhook.ReasonGone {
		t.Fatalf("%+v", got)
	}
	if all := w.disabled(w.shop); len(all) != 1 {
		t.Errorf("told %d times", len(all))
	}
	for _, d := range w.deliveries(h) {
		if d.Status != webhook.Parked {
			t.Errorf("%+v", d)
		}
	}

	on := true
	w.edit(h, webhook.Edit{Enabled: &on})
	w.tell(w.shop, w.event(w.shop, task.NewID(), task.EventCreated))
	w.work()
	if all := w.disabled(w.shop); len(all) != 2 || w.stored(h).Enabled {
		t.Errorf("enabled and gone again, told %d times", len(all))
	}
}

func TestWhatIsUnderWayToAHookThatIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.one()
	w.must(w.service.Delete(t.Context(), w.shop, h.ID))
	w.work()
	if got := w.receivers.take("r"); len(got) != 0 {
		t.Errorf("%d requests", len(got))
	}
	if kept, _, err := w.store.Deliveries(t.Context(), h.ID, 0, 10); err != nil || len(kept) != 0 {
		t.Errorf("of a hook that nobody can look at: %+v, %v", kept, err)
	}
	if err := w.service.Delete(t.Context(), w.shop, h.ID); err != webhook.ErrNotFound {
		t.Errorf("deleted again: %v", err)
	}
}
