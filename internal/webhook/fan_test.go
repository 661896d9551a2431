package webhook_test

import (
	"slices"
	"testing"

	"baton/internal/task"
	"baton/internal/webhook"
)

func TestEachEventReachesEachHookThatWantsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	legacy, foreign := w.organization(true), w.organization(false)
	mine, others := task.NewID(), task.NewID()
	w.hook(w.shop, "created", "a2a.task.created")
	w.hook(w.shop, "most", "a2a.task.created", "a2a.task.message", "a2a.task.canceled", "a2a.sent_task.updated")
	w.hook(w.shop, "alias", "a2a.task.updated")
	w.hook(w.shop, "both", "a2a.sent_task.updated", "a2a.task.updated")
	w.edit(w.hook(w.shop, "mine", "a2a.task.created", "a2a.sent_task.updated"), webhook.Edit{Identity: &mine})
	w.edit(w.hook(w.shop, "off", "a2a.task.created"), webhook.Edit{Enabled: new(bool)})
	w.hook(legacy, "legacy", "a2a.sent_task.updated", "a2a.task.updated")
	w.hook(foreign, "foreign", "a2a.task.created")

	w.tell(w.shop,
		w.event(w.shop, mine, task.EventCreated), w.event(w.shop, others, task.EventCreated),
		w.event(w.shop, mine, task.EventMessage), w.event(w.shop, others, task.EventSentUpdated))
	w.tell(legacy, w.event(legacy, others, task.EventSentUpdated))
	w.work()

	const created, message, sent, alias = task.EventCreated, task.EventMessage, task.EventSentUpdated, task.EventUpdated
	for name, want := range map[string][]task.EventType{
		"created": {created, created},
		"most":    {sent, created, created, message},
		"alias":   {alias},
		"both":    {sent},
		"mine":    {created},
		"off":     nil,
		"legacy":  {sent, alias},
		"foreign": nil,
	} {
		got := w.receivers.take(name)
		if !slices.Equal(kinds(got), want) {
			t.Errorf("%s was told of %v, want %v", name, kinds(got), want)
		}
		if name == "legacy" && (len(got) != 2 || got[0].body.ID != got[1].body.ID || got[0].id == got[1].id) {
			t.Errorf("under its alias it is the same event, by a delivery of its own: %+v", got)
		}
	}
}

func TestAnEventThatIsToldTwiceIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.hook(w.shop, "r", "a2a.task.created")
	told := []task.Event{w.event(w.shop, task.NewID(), task.EventCreated), w.event(w.shop, task.NewID(), task.EventCreated)}

	w.tell(w.shop, told...)
	w.tell(w.shop, told...) // the same batch of the stream once more, before anything is delivered
	w.work()
	w.tell(w.shop, told...) // and after
	w.work()

	got := w.receivers.take("r")
	if len(got) != 2 || got[0].body.ID == got[1].body.ID {
		t.Errorf("%d deliveries of 2 events", len(got))
	}
	if all := w.deliveries(h); len(all) != 2 || all[0].Tries != 1 || all[1].Tries != 1 || all[0].Status != webhook.Arrived {
		t.Errorf("%+v", all)
	}
}

func TestWhatTheQueueRefusesIsToldAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hook(w.shop, "r", "a2a.task.created")
	e := w.event(w.shop, task.NewID(), task.EventCreated)
	w.faults.On("SendMessageBatch").Refuse()
	if err := w.relay.Tell(t.Context(), w.shop, []task.Event{e}); err == nil {
		t.Fatal("the relay must hear of it")
	}
	w.tell(w.shop, e)
	w.work()
	if got := w.receivers.take("r"); len(got) != 1 {
		t.Errorf("%d deliveries", len(got))
	}
}

// Only what SQS did not take is sent again.
func TestEntriesThatTheQueueFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hook(w.shop, "r", "a2a.task.created")
	w.faults.On("SendMessageBatch").Answer(200, `{"Successful":[],"Failed":[{"Id":"0","Code":"InternalError","SenderFault":false}]}`)
	w.tell(w.shop, w.event(w.shop, task.NewID(), task.EventCreated), w.event(w.shop, task.NewID(), task.EventCreated))
	w.work()
	// The second was said to be taken, and never reached the queue.
	if got := w.receivers.take("r"); len(got) != 1 || got[0].body.Sequence != 1 {
		t.Errorf("%+v", got)
	}
}
