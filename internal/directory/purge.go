package directory

import (
	"context"
	"errors"

	"baton/internal/task"
)

// PurgeOrganization begins to delete an organization with all its data: its keys stop, its agents are deleted, their open
// tasks end, with events to those on the other side; then every task in which one of its agents took part is deleted, for
// the other side too, and the log, the bus, the webhooks and the directory's entries after that. It goes on in the
// background, see Sweeper, and can't be taken back. Errors as for EditOrganization.
func (s *Service) PurgeOrganization(ctx context.Context, p Principal, id string) (Organization, error) {
	return s.changeOrganization(ctx, p, id, WriteOrg, func(o Organization) (Organization, error) {
		o.Suspended, o.Purging = true, true
		return o, nil
	})
}

// Erasers delete for good what the directory's own store doesn't hold. All of them find nothing to do the second time.
type Erasers struct {
	// Task deletes a task as it was listed.
	Task func(ctx context.Context, t task.Task) error
	// Log deletes an organization's log.
	Log func(ctx context.Context, organization task.ID) error
	// Deliveries deletes what was sent to an organization's webhooks.
	Deliveries func(ctx context.Context, organization task.ID) error
	// Bus deletes an organization's bus with its rules.
	Bus func(ctx context.Context, o Organization) error
}

// purge goes one step further with each pass that finds nothing more to do for the step before: agents, their tasks, and,
// when over is true, all that is left.
func (s *Sweeper) purge(ctx context.Context, organization task.ID, over bool) (found int, err error) {
	var all []task.ID
	for after, more := (task.ID{}), true; more; {
		var page []Identity
		if page, more, err = s.store.Identities(ctx, organization, after, 100); err != nil {
			return found, err
		}
		for _, i := range page {
			after = i.ID
			all = append(all, i.ID)
			if i.Deleted {
				continue
			}
			found++
			now := i
			now.Deleted = true
			now.Version++
			err := s.store.SaveIdentity(ctx, i, now, Job{Kind: EndTasks, About: i.ID, CreatedAt: s.now()})
			if err != nil && !errors.Is(err, ErrStale) {
				return found, err
			}
		}
	}
	if found > 0 {
		return found, nil
	}
	jobs, err := s.store.Jobs(ctx)
	if err != nil {
		return 0, err
	}
	ending := map[task.ID]bool{}
	for _, j := range jobs {
		if j.Kind == MakeBus && j.About == organization {
			if err := s.store.DropJob(ctx, j); err != nil && !errors.Is(err, ErrStale) {
				return 0, err
			}
		}
		ending[j.About] = ending[j.About] || j.Kind == EndTasks
	}
	for _, i := range all {
		if ending[i] {
			found++ // its tasks are still being ended
		}
	}
	if found > 0 {
		return found, nil
	}
	for _, i := range all {
		n, err := s.eraseTasks(ctx, i)
		if found += n; err != nil {
			return found, err
		}
	}
	if found > 0 || !over {
		return found, nil
	}
	return 0, s.eraseRest(ctx, organization)
}

func (s *Sweeper) eraseTasks(ctx context.Context, identity task.ID) (found int, err error) {
	for q := (task.Query{Identity: identity, Direction: task.Both, Limit: 100}); ; {
		page, err := s.tasks.List(ctx, q)
		if err != nil {
			return found, err
		}
		for _, t := range page.Items {
			if err := s.erasers.Task(ctx, t); err != nil {
				return found, err
			}
			found++
		}
		if q.After = page.Next; page.Next == nil {
			return found, nil
		}
	}
}

func (s *Sweeper) eraseRest(ctx context.Context, organization task.ID) error {
	o, err := s.store.Organization(ctx, organization)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	err = errors.Join(s.erasers.Bus(ctx, o), s.erasers.Log(ctx, organization), s.erasers.Deliveries(ctx, organization))
	if err != nil {
		return err
	}
	return s.store.EraseOrganization(ctx, organization)
}
