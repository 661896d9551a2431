package directory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"baton/internal/task"
)

// Sweeper does what follows in the background from a deletion, a suspension, or a want of room for a bus. Sends are
// admitted on what was read up to a minute before, so that one pass is not enough: a job but that of a bus is over when two
// passes, begun a minute after its change or later, found nothing. It keeps no place: what a pass has done, the next one does not find.
type Sweeper struct {
	store Store
	tasks Tasks
	buses BusMaker
	now   func() time.Time

	erasers Erasers
}

// BusMaker makes the bus of an organization that has none, and says in the organization how it stands.
type BusMaker interface {
	// MakeBus returns ErrNoBus when there can't be one now.
	MakeBus(ctx context.Context, organization task.ID) error
}

// Tasks is what a sweeper needs of task.Service.
type Tasks interface {
	List(ctx context.Context, q task.Query) (task.Page, error)
	Reply(ctx context.Context, e task.Edit, intent task.Intent, lease task.ID, d task.Draft) (task.View, error)
	Set(ctx context.Context, e task.Edit, state task.State, d task.Draft) (task.View, error)
	Cancel(ctx context.Context, e task.Edit, messageID string, endedIsFine bool) (task.View, error)
}

// NewSweeper returns a sweeper. now is the clock.
func NewSweeper(store Store, tasks Tasks, buses BusMaker, now func() time.Time) *Sweeper {
	return &Sweeper{store: store, tasks: tasks, buses: buses, now: now}
}

// Erasing is a sweeper that can purge too.
func (s *Sweeper) Erasing(e Erasers) *Sweeper {
	with := *s
	with.erasers = e
	return &with
}

// Round makes one pass over every job. It may be stopped at any time, and run beside another: it goes on with the next
// round. The error says that something is left for it because storage failed.
func (s *Sweeper) Round(ctx context.Context) error {
	jobs, err := s.store.Jobs(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	turns := make(chan struct{}, jobsAtOnce)
	for _, j := range inTurn(jobs) {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			if failed := s.turn(ctx, j, len(jobs)); failed != nil {
				mu.Lock()
				defer mu.Unlock()
				err = errors.Join(err, failed)
			}
		})
	}
	all.Wait()
	return err
}

const (
	// jobsAtOnce is how many jobs have their turn at the same time.
	jobsAtOnce = 4
	// leastTurn is the least of a round's time that a job gets.
	leastTurn = 2 * time.Second
)

// inTurn puts what is soon done before what one organization can make as long as it likes, and that in another order in
// each round: an agent with a million open tasks, or fifty of them, must not hold up everybody else's.
func inTurn(jobs []Job) []Job {
	long := func(j Job) int {
		if j.Kind == EndTasks || j.Kind == Purge {
			return 1
		}
		return 0
	}
	rand.Shuffle(len(jobs), func(a, b int) { jobs[a], jobs[b] = jobs[b], jobs[a] })
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(long(a), long(b)) })
	return jobs
}

// turn is a pass over one of so many jobs, within its share of the round's time. One that needs more goes on in the next
// round.
func (s *Sweeper) turn(ctx context.Context, j Job, jobs int) error {
	end, ok := ctx.Deadline()
	if !ok {
		return s.pass(ctx, j)
	}
	share := max(leastTurn, time.Until(end)*jobsAtOnce/time.Duration(max(jobs, jobsAtOnce)))
	mine, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	err := s.pass(mine, j)
	if mine.Err() != nil && ctx.Err() == nil {
		slog.InfoContext(ctx, "job goes on in the next round", "kind", string(j.Kind), "about", j.About.String())
		return nil
	}
	return err
}

func (s *Sweeper) pass(ctx context.Context, j Job) error {
	settled := s.now().Sub(j.CreatedAt) >= settle
	found, err := 0, error(nil)
	switch j.Kind {
	case EndTasks:
		found, err = s.endTasks(ctx, j.About)
		if err == nil {
			var more int
			more, err = s.endRequests(ctx, j.About)
			found += more
		}
	case TellSuspension:
		found, err = s.tellSuspension(ctx, j.About)
	case Purge:
		found, err = s.purge(ctx, j.About, settled && j.Clean == cleanPasses-1)
	case MakeBus:
		return s.makeBus(ctx, j)
	default:
		err = fmt.Errorf("directory: job of unknown kind %q", j.Kind)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", j.Kind, j.About, err)
	}
	next := j
	next.Version++
	if next.Clean++; found > 0 || !settled {
		next.Clean = 0
	}
	switch {
	case next.Clean == cleanPasses:
		err = s.store.DropJob(ctx, j)
	case next.Clean != j.Clean:
		err = s.store.SaveJob(ctx, j, next)
	}
	if errors.Is(err, ErrStale) {
		return nil // there is a newer change to follow, or another sweeper was faster
	}
	return err
}

// makeBus is over with the first success.
func (s *Sweeper) makeBus(ctx context.Context, j Job) error {
	err := s.buses.MakeBus(ctx, j.About)
	if err == nil {
		err = s.store.DropJob(ctx, j)
	}
	if errors.Is(err, ErrNoBus) || errors.Is(err, ErrStale) {
		return nil
	}
	return err
}

// deleted is what the requesters of a deleted agent's tasks are told.
const deleted = "The agent was deleted."

// atOnce is how many tasks are ended at the same time.
const atOnce = 8

// endTasks ends every open task of a deleted identity: those that it received as failed, those that it sent as canceled.
// It returns how many it found open.
func (s *Sweeper) endTasks(ctx context.Context, identity task.ID) (found int, err error) {
	for _, direction := range []task.Direction{task.Inbound, task.Outbound} {
		for _, state := range task.States {
			if state.Terminal() {
				continue
			}
			n, more := s.endState(ctx, task.Query{Identity: identity, Direction: direction, State: state, Limit: 100})
			found, err = found+n, errors.Join(err, more)
		}
	}
	return found, err
}

// endRequests revokes what a deleted identity asked for or was asked for: nobody could answer, and whoever asked may have
// only so many open. It returns how many it found.
func (s *Sweeper) endRequests(ctx context.Context, identity task.ID) (found int, err error) {
	for last := (task.ID{}); ; {
		var page []Connection
		if page, last, err = s.store.Connections(ctx, identity, last, 100); err != nil {
			return found, err
		}
		for _, c := range page {
			if c.State != Pending {
				continue
			}
			found++
			over, _, err := c.becomes(Revoked, identity, s.now())
			if err == nil {
				err = s.store.SaveConnection(ctx, c, over)
			}
			if err != nil && !errors.Is(err, ErrStale) { // decided in between: the next pass looks
				return found, err
			}
		}
		if last.IsZero() {
			return found, nil
		}
	}
}

func (s *Sweeper) endState(ctx context.Context, q task.Query) (found int, err error) {
	for {
		page, listErr := s.tasks.List(ctx, q)
		if listErr != nil {
			return found, errors.Join(err, listErr)
		}
		found += len(page.Items)
		err = errors.Join(err, s.endAll(ctx, q, page.Items))
		if page.Next == nil || ctx.Err() != nil {
			return found, errors.Join(err, ctx.Err())
		}
		q.After = page.Next
	}
}

func (s *Sweeper) endAll(ctx context.Context, q task.Query, items []task.Task) error {
	errs := make([]error, len(items))
	turns := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for n, t := range items {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			errs[n] = s.end(ctx, q, t.ID)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// end ends one task as its deleted party; one that ended by itself, or was deleted, is no error.
func (s *Sweeper) end(ctx context.Context, q task.Query, id task.ID) error {
	e := task.Edit{Task: id, Viewer: task.Viewer{Identity: q.Identity}, Minimal: true}
	var err error
	if q.Direction == task.Outbound {
		_, err = s.tasks.Cancel(ctx, e, "", true)
	} else {
		reason := deleted
		_, err = s.tasks.Reply(ctx, e, task.Fail, task.ID{}, task.Draft{Parts: []task.Part{{Text: &reason}}})
		if errors.Is(err, task.ErrTaskFull) {
			_, err = s.tasks.Set(ctx, e, task.Failed, task.Draft{})
		}
	}
	if errors.Is(err, task.ErrTerminal) || errors.Is(err, task.ErrNotFound) {
		return nil
	}
	return err
}

// tellSuspension brings the profiles of an organization's identities to what the organization says. It returns how many
// it changed.
func (s *Sweeper) tellSuspension(ctx context.Context, organization task.ID) (found int, err error) {
	o, err := s.store.Organization(ctx, organization)
	if errors.Is(err, ErrNotFound) {
		return 0, nil // purged
	}
	if err != nil {
		return 0, err
	}
	for after, more := (task.ID{}), true; more; {
		var page []Identity
		if page, more, err = s.store.Identities(ctx, organization, after, 100); err != nil {
			return found, err
		}
		for _, i := range page {
			after = i.ID
			if i.Organization.Suspended == o.Suspended {
				continue
			}
			found++
			now := i
			now.Organization.Suspended = o.Suspended
			now.Version++
			if err := s.store.SaveIdentity(ctx, i, now); err != nil && !errors.Is(err, ErrStale) {
				return found, err
			}
		}
	}
	return found, nil
}
