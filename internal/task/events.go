package task

import (
	"context"
	"time"
)

// EventsKept is how long an entry of a log can be read (contract section 4).
const EventsKept = 30 * 24 * time.Hour

// EventLog is the organizations' logs. All methods are safe for concurrent use, and return ErrUnavailable (wrapped) when
// storage can't be reached or throttles.
type EventLog interface {
	// Entries reads from the entry after the given one, at most limit, oldest first. It never passes an entry that
	// can't be seen yet. Fewer than limit mean that there is no more to be seen now.
	Entries(ctx context.Context, organization ID, after int64, limit int) ([]Event, error)
	// Texts completes the texts of entries of which the log holds only the beginning.
	Texts(ctx context.Context, entries []Event) error
	// Newest is the sequence of the newest entry, 0 without one. When it need not be exact it costs half, and may be a
	// second behind.
	Newest(ctx context.Context, organization ID, exact bool) (int64, error)
	// First is the sequence of the oldest entry that is still kept and was logged at that time or later; the one after
	// the newest when there is none.
	First(ctx context.Context, organization ID, since time.Time) (int64, error)
}

// EventQuery says which events of an organization to read. Zero fields don't filter.
type EventQuery struct {
	Organization ID
	Identity     ID        // who must see them
	Task         ID        // that they are about
	Type         EventType // EventUpdated finds EventSentUpdated, and shows it under the name asked for
}

func (q EventQuery) matches(e Event, since time.Time) bool {
	return (q.Identity.IsZero() || q.Identity == e.Identity) && (q.Task.IsZero() || q.Task == e.Task) &&
		q.Type.Answers(e.Type) && !e.At.Before(since)
}

// Position is how far a reader is in a log. Whoever goes on from the one that a call returned misses nothing and sees
// nothing twice.
type Position struct {
	After int64 // the last entry that was read, whether it matched or not
	// Since leaves out what happened before it, however late it was logged.
	Since time.Time
	// AsOf is a time before which no entry behind After was logged. Once that is EventsKept ago, some may be gone.
	AsOf time.Time
}

// Events reads the logs. All methods are safe for concurrent use.
type Events struct {
	log EventLog
	now func() time.Time
}

// NewEvents returns a reader of logs. now is the clock.
func NewEvents(log EventLog, now func() time.Time) *Events { return &Events{log, now} }

// Since is the position from which all that happened at that time or later is read, all that is kept for the zero time.
func (s *Events) Since(ctx context.Context, organization ID, since time.Time) (Position, error) {
	now := s.now()
	first, err := s.log.First(ctx, organization, since)
	return Position{After: first - 1, Since: since, AsOf: now.Add(-skew)}, err
}

// End is the position from which only what comes now is read.
func (s *Events) End(ctx context.Context, organization ID) (Position, error) {
	now := s.now()
	newest, err := s.log.Newest(ctx, organization, true)
	return Position{After: newest, AsOf: now.Add(-skew)}, err
}

// Kept is ErrGone when a position is older than the log is kept.
func (s *Events) Kept(p Position) error {
	if s.now().Sub(p.AsOf) > EventsKept {
		return ErrGone
	}
	return nil
}

const (
	// skew is by how much the clocks of a reader and of who logs may differ.
	skew = time.Minute
	// scanned is the most entries that a page looks at, about 200 read units: a page may be short, or empty, where
	// few entries match.
	scanned = 1000
	// pageBytes keeps a page under what an answer may hold, texts and all, even where every character of it takes twice
	// the room there; eventBytes is the most of one event.
	pageBytes  = 3_000_000
	eventBytes = 64 << 10
)

// Page reads at most limit matching events from a position, oldest first, and returns the position behind them.
// atEnd says that there is no more to be seen now. ErrGone when the position is older than the log is kept.
func (s *Events) Page(ctx context.Context, q EventQuery, from Position, limit int) (page []Event, next Position, atEnd bool, err error) {
	next = from
	for looked := 0; len(page) < limit && looked < scanned && !atEnd; {
		now := s.now()
		if err := s.Kept(next); err != nil {
			return nil, from, false, err
		}
		portion := min(max(limit, 50), scanned-looked)
		entries, err := s.log.Entries(ctx, q.Organization, next.After, portion)
		if err != nil {
			return nil, from, false, err
		}
		looked += len(entries)
		atEnd = len(entries) < portion
		for _, e := range entries {
			if len(page) == limit {
				atEnd = false
				break
			}
			next.After, next.AsOf = e.Sequence, e.LoggedAt
			if q.matches(e, next.Since) {
				page = append(page, e)
			}
		}
		if asOf := now.Add(-skew); atEnd && next.AsOf.Before(asOf) {
			next.AsOf = asOf
		}
	}
	if err := s.log.Texts(ctx, page); err != nil {
		return nil, from, false, err
	}
	bytes := 0
	for i := range page {
		if q.Type == EventUpdated {
			page[i].Type = EventUpdated
		}
		bytes += min(eventBytes, 1500+6*(len(page[i].Message.Text)+len(page[i].Result.Text)))
		if bytes > pageBytes && i > 0 {
			next.After, next.AsOf = page[i].Sequence-1, page[i-1].LoggedAt
			return page[:i], next, false, nil
		}
	}
	return page, next, atEnd, nil
}

// Wait returns the first matching event behind a position, as soon as it is there, or none when the time is up. In both
// cases next is behind all that was looked at. Errors as for Page.
func (s *Events) Wait(ctx context.Context, q EventQuery, from Position, most time.Duration) (found *Event, next Position, err error) {
	deadline := s.now().Add(most)
	for next = from; ; {
		page, after, atEnd, err := s.Page(ctx, q, next, 1)
		if err != nil {
			return nil, from, err
		}
		next = after
		if len(page) > 0 {
			return &page[0], next, nil
		}
		if !atEnd && s.now().Before(deadline) {
			continue
		}
		if more, err := s.more(ctx, q.Organization, next.After, deadline); err != nil || !more {
			return nil, next, err
		}
	}
}

// more waits until there is an entry behind the given one, or until the time is up: then it is false.
func (s *Events) more(ctx context.Context, organization ID, after int64, deadline time.Time) (bool, error) {
	for pause := firstPoll; ; pause = min(pause*3/2, lastPoll) {
		left := deadline.Sub(s.now())
		if left <= 0 {
			return false, nil
		}
		if err := sleep(ctx, min(pause, left)); err != nil {
			return false, err
		}
		newest, err := s.log.Newest(ctx, organization, false)
		if err != nil || newest > after {
			return err == nil, err
		}
	}
}

// Follow gives every matching event behind a position to tell, with the position behind it, until the time is up. At
// least every idle it calls tell without an event, with how far it looked. It ends with nil when the time is up, else
// with the first error, tell's included.
func (s *Events) Follow(ctx context.Context, q EventQuery, from Position, until time.Time, idle time.Duration, tell func(*Event, Position) error) error {
	told := s.now()
	for next := from; ; {
		page, after, atEnd, err := s.Page(ctx, q, next, 50)
		if err != nil {
			return err
		}
		for i := range page {
			behind := Position{After: page[i].Sequence, Since: next.Since, AsOf: page[i].LoggedAt}
			if err := tell(&page[i], behind); err != nil {
				return err
			}
			told = s.now()
		}
		next = after
		if now := s.now(); now.Sub(told) >= idle {
			if err := tell(nil, next); err != nil {
				return err
			}
			told = now
		}
		if !s.now().Before(until) {
			return nil
		}
		if !atEnd {
			continue
		}
		wake := told.Add(idle)
		if until.Before(wake) {
			wake = until
		}
		if _, err := s.more(ctx, q.Organization, next.After, wake); err != nil {
			return err
		}
	}
}
