package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"baton/internal/aside"
	"baton/internal/task"
)

// Bodies reads what a delivery says, anew for each try: the queue carries no text.
type Bodies interface {
	// Body is the JSON of an organization's event as of its type for the hook. ErrNotFound when the log no longer has it.
	Body(ctx context.Context, organization task.ID, sequence int64, t task.EventType) ([]byte, error)
}

// Teller puts an event into an organization's log and tells of it.
type Teller interface {
	Tell(ctx context.Context, organization task.ID, events []task.Event) error
}

// Worker makes deliveries. Safe for concurrent use, by many processes.
type Worker struct {
	hooks      HookStore
	deliveries DeliveryStore
	bodies     Bodies
	queue      Queue
	sender     *Sender
	teller     Teller
	now        func() time.Time
}

// NewWorker returns a worker.
func NewWorker(hooks HookStore, deliveries DeliveryStore, bodies Bodies, queue Queue, sender *Sender, teller Teller, now func() time.Time) *Worker {
	return &Worker{hooks, deliveries, bodies, queue, sender, teller, now}
}

// Do makes the try that a job asks for, notes what came of it, and queues the next one where there is one soon. again says
// that the queue gave the job before, to a worker that may have died in the middle. An error means that the job must come
// again; a receiver that fails is none.
//
// A receiver may see a delivery more than once: a worker can die behind its answer. Its webhook-id is then the same.
func (w *Worker) Do(ctx context.Context, j Job, again bool) error {
	// Side by side, since nearly always all three are needed.
	reading, cancel := context.WithCancel(ctx)
	delivery := aside.Begin(func() (Delivery, error) {
		return w.deliveries.Delivery(reading, j.Hook, DeliveryID(j.Hook, j.Sequence, j.Type))
	})
	hook := aside.Begin(func() (Hook, error) { return w.hooks.Hook(reading, j.Organization, j.Hook) })
	text := aside.Begin(func() ([]byte, error) { return w.bodies.Body(reading, j.Organization, j.Sequence, j.Type) })
	defer func() {
		cancel()
		_, _ = hook()
		_, _ = text()
	}()
	d, err := delivery()
	switch {
	case errors.Is(err, ErrNotFound):
		d = NewDelivery(j.Hook, j.Event, j.Type, j.Sequence, w.clock())
	case err != nil:
		return err
	case d.Status != Pending:
		return nil
	case d.Tries > j.Tries && !again:
		return nil // a job that was queued twice: the other one was made, and queued what follows
	case d.Due.After(w.clock().Add(time.Second)):
		return w.wait(ctx, j.Organization, d)
	}
	h, err := hook()
	switch {
	case errors.Is(err, ErrNotFound) && d.Version == 0:
		return nil // nobody could look at it, and the organization may be purged
	case errors.Is(err, ErrNotFound), err == nil && !h.Enabled:
		return w.save(ctx, j.Organization, d.Park(w.clock()))
	case err != nil:
		return err
	}
	body, err := text()
	switch {
	case errors.Is(err, ErrNotFound):
		return w.save(ctx, j.Organization, d.Park(w.clock()))
	case err != nil:
		return err
	}
	o := w.sender.Send(ctx, Request{ID: d.ID.String(), URL: h.URL, Keys: h.Keys, Body: body}, w.now())
	ended := w.clock()
	d = d.After(o, ended, rand.Float64())
	measure(o, d)
	if err := w.follow(ctx, h, o, d.Tries, ended); err != nil {
		return err
	}
	if err := w.save(ctx, j.Organization, d); err != nil {
		if errors.Is(err, ErrStale) {
			return nil // another worker made the same try, and goes on from it
		}
		return err
	}
	if d.Status != Pending {
		return nil
	}
	return w.wait(ctx, j.Organization, d)
}

// wait queues the next try of a delivery, unless it is so far away that it waits in the table.
func (w *Worker) wait(ctx context.Context, organization task.ID, d Delivery) error {
	by, queued := Delay(d.Due, w.clock())
	if !queued {
		return nil
	}
	return w.queue.Put(ctx, by, d.job(organization))
}

func (w *Worker) save(ctx context.Context, organization task.ID, d Delivery) error {
	return w.deliveries.SaveDelivery(ctx, organization, d)
}

// follow keeps the hook up to date with what came of a try. That it was disabled is told first: the event's id is the same
// however often that is tried, so that a worker that dies in between tells it once.
func (w *Worker) follow(ctx context.Context, h Hook, o Outcome, tries int, ended time.Time) error {
	for range maxRaces {
		now, changed := h.After(o, tries, ended)
		if !changed {
			return nil
		}
		if h.Enabled && !now.Enabled {
			if err := w.teller.Tell(ctx, h.Organization, []task.Event{disabledEvent(now)}); err != nil {
				return err
			}
			slog.WarnContext(ctx, "webhook disabled", "organization_id", h.Organization.String(), "webhook_id", h.ID.String(), "reason", string(now.Disabled))
		}
		err := w.hooks.SaveHook(ctx, h, now)
		if !errors.Is(err, ErrStale) {
			return err
		}
		tried := h.URL
		switch h, err = w.hooks.Hook(ctx, h.Organization, h.ID); {
		case errors.Is(err, ErrNotFound), err == nil && h.URL != tried:
			return nil // what came of the try says nothing about another URL
		case err != nil:
			return err
		}
	}
	return task.ErrConflict
}

// disabledEvent says that a hook was disabled, once for each time that its owner enabled it. It is the organization's
// alone: an agent's key knows of no hooks.
func disabledEvent(h Hook) task.Event {
	note, _ := json.Marshal(struct { // can't fail
		WebhookID string `json:"webhook_id"`
		Reason    Reason `json:"reason"`
	}{h.ID.String(), h.Disabled})
	return task.Event{
		ID: task.EventID(h.ID, h.Enablings, EventDisabled), Type: EventDisabled, Organization: h.Organization,
		Task: h.ID, Version: h.Version + 1, At: h.UpdatedAt, Note: string(note),
	}
}

func (w *Worker) clock() time.Time { return w.now().UTC().Truncate(time.Millisecond) }
