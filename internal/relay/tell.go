package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"baton/internal/aside"
	"baton/internal/store"
	"baton/internal/task"
)

// tellOrganization logs events, puts them on the bus and tells the hooks, in portions. When a portion can't be told now,
// its records and all that follow come again: the order in the log stays that of the tasks.
func (r *Relay) tellOrganization(ctx context.Context, organization task.ID, all []told) {
	for portion := range slices.Chunk(all, store.MaxAppend) {
		err := r.tellPortion(ctx, organization, portion)
		if err != nil && !isUnavailable(err) {
			err = r.tellOneByOne(ctx, organization, portion)
		}
		if err == nil {
			all = all[len(portion):]
			continue
		}
		slog.ErrorContext(ctx, "events not told", "organization_id", organization.String(), "events", len(all), "error", err)
		for _, t := range all {
			t.from.retry()
		}
		return
	}
}

// tellOneByOne finds what no later try would tell: the events of one record spoil a portion for all the others.
func (r *Relay) tellOneByOne(ctx context.Context, organization task.ID, portion []told) error {
	for i := range portion {
		err := r.tellPortion(ctx, organization, portion[i:i+1])
		switch {
		case isUnavailable(err):
			return err
		case err != nil:
			r.fail(ctx, portion[i].from, err)
		}
	}
	return nil
}

func (r *Relay) tellPortion(ctx context.Context, organization task.ID, portion []told) error {
	events := make([]task.Event, len(portion))
	for i := range portion {
		events[i] = portion[i].event
	}
	return r.Tell(ctx, organization, events)
}

// Tell logs at most store.MaxAppend events of an organization, puts them on its bus and tells its hooks; repeated, it logs
// them once. After a task.ErrUnavailable a later try may succeed, after any other error none will.
//
// What does not hang on the log is asked for beside it, and the bus and the hooks are told side by side: neither is late
// for the other, whichever is slow.
func (r *Relay) Tell(ctx context.Context, organization task.ID, events []task.Event) error {
	ctx, cancel := context.WithCancel(ctx)
	legacy := aside.Begin(func() (bool, error) { return r.legacy.wants(ctx, organization) })
	listening := aside.Begin(func() (tell, error) { return r.listening(ctx, organization) })
	defer func() {
		cancel() // only after a failure is there something left
		_, _ = legacy()
		_, _ = listening()
	}()
	head, found, err := r.append(ctx, organization, events)
	if err != nil {
		return err
	}
	published := aside.Begin(func() (struct{}, error) {
		return struct{}{}, r.publish(ctx, head, events, found > 0, legacy)
	})
	tell, err := listening()
	if err == nil {
		err = tell(ctx, events)
	}
	if err != nil {
		err = fmt.Errorf("relay: tell hooks: %w", err)
	}
	_, unpublished := published()
	return errors.Join(unpublished, err)
}

// tell tells hooks of events that are in the log.
type tell = func(context.Context, []task.Event) error

func (r *Relay) listening(ctx context.Context, organization task.ID) (tell, error) {
	if r.hooks == nil {
		return func(context.Context, []task.Event) error { return nil }, nil
	}
	return r.hooks.Listening(ctx, organization)
}

// append puts events into the log, where they get their sequences; found is how many were there already.
func (r *Relay) append(ctx context.Context, organization task.ID, events []task.Event) (head store.Head, found int, err error) {
	head, err = r.log.Head(ctx, organization)
	if err != nil {
		return head, 0, err
	}
	if head.New {
		// Is there a bus? One that is still to be made, for want of room in the account, is parked from the start.
		made, there, err := r.buses.Describe(ctx, organization)
		if err != nil || !there {
			slog.WarnContext(ctx, "no bus yet", "organization_id", organization.String(), "error", err)
			head.ParkedFrom = 1
		}
		head.BusMade = made
	}
	return r.log.Append(ctx, head, events)
}

// publish puts events that are in the log on the bus, but for those that wait in the log: whoever unparks sends them.
// head is as of the append. Some may have been appended earlier: repeated. legacyWanted tells whether the bus wants the older type too.
func (r *Relay) publish(ctx context.Context, head store.Head, events []task.Event, repeated bool, legacyWanted func() (bool, error)) error {
	direct := slices.Clone(events)
	if head.ParkedFrom != 0 {
		direct = slices.DeleteFunc(direct, func(e task.Event) bool { return e.Sequence >= head.ParkedFrom })
	}
	if len(direct) == 0 {
		return nil
	}
	slices.SortFunc(direct, func(a, b task.Event) int { return int(a.Sequence - b.Sequence) })
	if err := r.log.Texts(ctx, direct); err != nil {
		return err
	}
	legacy, err := legacyWanted()
	if err != nil {
		return err
	}

	sending, cancel := ctx, context.CancelFunc(func() {})
	if deadline, ok := ctx.Deadline(); ok {
		sending, cancel = context.WithDeadline(ctx, deadline.Add(-spareTime))
	}
	defer cancel()
	start := time.Now()
	failed, why := r.buses.Send(sending, head.Organization, direct, legacy)
	measureSent(head.Organization, len(direct), failed != 0, time.Since(start))
	if failed == 0 && repeated {
		// The round that looks after buses has perhaps passed these entries by already, while they were not yet sent:
		// whether the bus was there for them must be known here.
		made, there, err := r.buses.Describe(sending, head.Organization)
		switch {
		case err != nil:
			failed, why = direct[0].Sequence, err
		case !there, !head.BusMade.IsZero() && !made.Equal(head.BusMade):
			failed, why = direct[0].Sequence, errors.New("relay: the bus is gone, or another than before")
		}
	}
	if failed == 0 {
		return nil
	}
	slog.WarnContext(ctx, "bus parked", "organization_id", head.Organization.String(), "from", failed, "error", why)
	return r.log.Park(ctx, head.Organization, failed)
}
