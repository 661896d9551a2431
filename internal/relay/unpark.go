package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"baton/internal/directory"
	"baton/internal/store"
	"baton/internal/task"
)

// BusMaker makes the bus of an organization that has none.
type BusMaker interface {
	// MakeBus returns ErrNoBus when there can't be one now, for want of room in the account or because the
	// organization is no more.
	MakeBus(ctx context.Context, organization task.ID) error
}

// ErrNoBus says that an organization stays without a bus for now.
var ErrNoBus = directory.ErrNoBus

// Unparker sends what waits in the logs once the buses take it again.
type Unparker struct {
	log    *store.Log
	buses  *Buses
	maker  BusMaker
	legacy *legacy
}

// NewUnparker returns an unparker. maker may be nil: then no bus is made.
func NewUnparker(log *store.Log, buses *Buses, maker BusMaker, organizations Organizations) *Unparker {
	return &Unparker{log, buses, maker, newLegacy(organizations)}
}

// unparkPortion is how many entries are sent between two notes of how far it got.
const unparkPortion = 50

// All tries every organization that is parked. One that stays so keeps no other from being tried; the error says that
// something other than a bus stood in the way.
func (u *Unparker) All(ctx context.Context) error {
	organizations, err := u.log.Parked(ctx)
	if err != nil {
		return err
	}
	return each(ctx, organizations, u.One)
}

// One sends what waits in the log of an organization, in the log's order, until nothing does or the bus refuses.
//
// Only when the log's head is still as it was read when everything was sent do events go straight to the bus again:
// what was appended meanwhile waits for this, and would otherwise be lost.
func (u *Unparker) One(ctx context.Context, organization task.ID) error {
	head, err := u.log.Head(ctx, organization)
	if err != nil || head.ParkedFrom == 0 {
		return err
	}
	measureWaiting(organization, head.Sequence-head.ParkedFrom+1)
	if head, err = u.ensureBus(ctx, head); err != nil {
		if errors.Is(err, ErrNoBus) {
			slog.WarnContext(ctx, "still without a bus", "organization_id", organization.String(), "from", head.ParkedFrom)
			return nil
		}
		return err
	}
	legacy, err := u.legacy.wants(ctx, organization)
	if err != nil {
		return err
	}
	for head.ParkedFrom != 0 {
		next, err := u.sendPortion(ctx, head, legacy)
		if err != nil {
			return err
		}
		refused := next <= head.Sequence && next < head.ParkedFrom+unparkPortion
		if next != head.ParkedFrom || next > head.Sequence {
			if head, _, err = u.log.Sent(ctx, head, next); err != nil {
				return err
			}
		}
		if refused {
			return nil
		}
	}
	slog.InfoContext(ctx, "bus caught up", "organization_id", organization.String(), "sequence", head.Sequence)
	return nil
}

// ensureBus looks for the bus, and makes it where there is none.
func (u *Unparker) ensureBus(ctx context.Context, head store.Head) (store.Head, error) {
	made, there, err := u.buses.Describe(ctx, head.Organization)
	if err == nil && !there {
		if u.maker == nil {
			return head, ErrNoBus
		}
		if err := u.maker.MakeBus(ctx, head.Organization); err != nil {
			return head, fmt.Errorf("relay: make bus: %w", err)
		}
		made, there, err = u.buses.Describe(ctx, head.Organization)
	}
	switch {
	case err != nil:
		return head, fmt.Errorf("relay: unpark: %w", err)
	case !there:
		return head, ErrNoBus
	}
	for ok := false; !ok && !made.Equal(head.BusMade); {
		if head, ok, err = u.log.BusReplaced(ctx, head, made); err != nil {
			return head, err
		}
	}
	return head, nil
}

// sendPortion sends the first of what waits and returns the first entry that was not taken.
func (u *Unparker) sendPortion(ctx context.Context, head store.Head, legacy bool) (next int64, err error) {
	entries, err := u.log.Entries(ctx, head.Organization, head.ParkedFrom-1, unparkPortion)
	if err != nil {
		return head.ParkedFrom, err
	}
	if len(entries) == 0 {
		return u.skipGone(ctx, head)
	}
	if err := u.log.Texts(ctx, entries); err != nil {
		return 0, err
	}
	start := time.Now()
	failed, why := u.buses.Send(ctx, head.Organization, entries, legacy)
	measureSent(head.Organization, len(entries), failed != 0, time.Since(start))
	if failed != 0 {
		slog.WarnContext(ctx, "bus refuses", "organization_id", head.Organization.String(), "from", failed, "error", why)
		return failed, nil
	}
	return entries[len(entries)-1].Sequence + 1, nil
}

// skipGone is the first entry that waits and is still kept: a log can't hold back more than it holds.
func (u *Unparker) skipGone(ctx context.Context, head store.Head) (next int64, err error) {
	kept, err := u.log.First(ctx, head.Organization, time.Time{})
	if err != nil || kept <= head.ParkedFrom {
		return head.ParkedFrom, err
	}
	slog.ErrorContext(ctx, "events gone before a bus took them", "organization_id", head.Organization.String(),
		"from", head.ParkedFrom, "to", kept-1)
	return kept, nil
}
