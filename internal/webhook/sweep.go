package webhook

import (
	"context"
	"time"

	"baton/internal/aside"
	"baton/internal/task"
)

// DueStore finds the deliveries that wait in the table for a long pause to end.
type DueStore interface {
	// Swept is the minute up to which all that was due has been queued, zero before the first sweep.
	Swept(ctx context.Context) (time.Time, error)
	// SetSwept notes that.
	SetSwept(ctx context.Context, minute time.Time) error
	// DueIn lists the deliveries that fall due in a minute, with their organizations.
	DueIn(ctx context.Context, minute time.Time) ([]Waiting, error)
}

// Waiting is a delivery that waits in the table.
type Waiting struct {
	Delivery
	Organization task.ID
}

// Sweeper queues the deliveries whose long pause ends. One at a time is enough, more do no harm.
type Sweeper struct {
	due   DueStore
	queue Queue
	now   func() time.Time
}

// NewSweeper returns a sweeper.
func NewSweeper(due DueStore, queue Queue, now func() time.Time) *Sweeper {
	return &Sweeper{due, queue, now}
}

const (
	// lookAhead is how early a delivery is queued: with a delay that a queue takes, and time for a sweep to be late.
	lookAhead = LongestHop - 3*time.Minute
	// firstLook is how far back the very first sweep looks.
	firstLook = time.Hour
	// minutesAtOnce is how many minutes are read side by side: two in the usual round, many in the first and after a pause.
	minutesAtOnce = 4
)

// Sweep queues what falls due within the next minutes, from where the sweep before it ended: one that did not run for
// hours is made up for. It gives up, to go on next time, when ctx is done.
func (s *Sweeper) Sweep(ctx context.Context) error {
	minute, err := s.due.Swept(ctx)
	if err != nil {
		return err
	}
	now := s.now()
	if minute.IsZero() {
		minute = now.Add(-firstLook).Truncate(time.Minute)
	}
	until := now.Add(lookAhead).Truncate(time.Minute)

	reading, cancel := context.WithCancel(ctx)
	var ahead []func() ([]Waiting, error) // of the minutes from minute up to asked
	defer func() {
		cancel()
		for _, wait := range ahead {
			_, _ = wait()
		}
	}()
	for asked := minute; minute.Before(until) && ctx.Err() == nil; minute = minute.Add(time.Minute) {
		for ; asked.Before(until) && len(ahead) < minutesAtOnce; asked = asked.Add(time.Minute) {
			ahead = append(ahead, s.look(reading, asked))
		}
		waiting, err := ahead[0]()
		ahead = ahead[1:]
		if err != nil {
			return err
		}
		if err := s.put(ctx, waiting); err != nil {
			return err
		}
		if next := minute.Add(time.Minute); len(waiting) > 0 || !next.Before(until) {
			if err := s.due.SetSwept(ctx, next); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// look begins to read what falls due in a minute.
func (s *Sweeper) look(ctx context.Context, minute time.Time) (wait func() ([]Waiting, error)) {
	return aside.Begin(func() ([]Waiting, error) { return s.due.DueIn(ctx, minute) })
}

// put queues deliveries, those that are due in the same second together.
func (s *Sweeper) put(ctx context.Context, waiting []Waiting) error {
	bySecond := map[time.Duration][]Job{}
	for _, d := range waiting {
		by, _ := Delay(d.Due, s.now())
		bySecond[by] = append(bySecond[by], d.job(d.Organization))
	}
	for by, jobs := range bySecond {
		if err := s.queue.Put(ctx, by, jobs...); err != nil {
			return err
		}
	}
	return nil
}
