package store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Contexts implements task.Store. It walks the identity's tasks; a task stands for its context where no other one of
// the context changed later. What changed since a moment before the page is shown where it is met first: its later
// place is on a page that the caller has already.
func (s *Tasks) Contexts(ctx context.Context, q task.ContextQuery) (page task.ContextPage, err error) {
	if q.After != nil && len(q.After) != positionSize {
		return task.ContextPage{}, errCursor
	}
	recent := time.Now().Add(-indexLag)
	ctx, budget := withBudget(ctx, s.page)
	walk := s.newWalk(budget.spent, q.Identity, task.Both, codesOf(""), span{to: q.After}, 2*q.Limit)
	met := map[task.ID]bool{}
	last := q.After
	for {
		var batch []head
		var end bool
		for want := min(q.Limit-len(page.Items), readAtOnce); len(batch) < want; {
			h, ok, err := walk.next(ctx)
			if errors.Is(err, errSpent) {
				page.Next, end = last, true
				break
			}
			if err != nil {
				return task.ContextPage{}, err
			}
			if end = !ok; end {
				page.Next = nil
				break
			}
			last = h.position()
			if !met[h.Context] {
				met[h.Context] = true
				batch = append(batch, h)
			}
		}
		found, err := s.contextsOf(ctx, batch)
		if err != nil {
			return task.ContextPage{}, err
		}
		for i, c := range found {
			if bytes.Compare(c.newest, batch[i].position()) <= 0 || c.UpdatedAt.After(recent) {
				page.Items = append(page.Items, c.Context)
			}
		}
		switch {
		case end:
			return page, nil
		case len(page.Items) == q.Limit:
			if _, more, err := walk.next(ctx); more || err != nil {
				page.Next = last
			}
			return page, nil
		case budget.spent():
			page.Next = last
			return page, nil
		}
	}
}

// indexLag is more than an index is behind its table.
const indexLag = 5 * time.Second

// Context implements task.Store.
func (s *Tasks) Context(ctx context.Context, id, identity task.ID) (task.Context, []task.Task, error) {
	heads, err := s.contextHeads(ctx, id, identity)
	if err != nil {
		return task.Context{}, nil, err
	}
	if len(heads) == 0 {
		return task.Context{}, nil, task.ErrNotFound
	}
	var tasks []task.Task
	for _, h := range heads {
		tasks = append(tasks, h.Task)
	}
	return contextOf(tasks).Context, tasks, nil
}

// contextsOf reads the contexts of tasks, in their order: all of them, then all of their heads.
func (s *Tasks) contextsOf(ctx context.Context, of []head) ([]contextSum, error) {
	if len(of) == 0 {
		return nil, nil
	}
	var keys []map[string]types.AttributeValue
	for _, h := range of {
		keys = append(keys, contextKey(h.Context))
	}
	items, err := s.batch(ctx, false, keys)
	if err != nil {
		return nil, err
	}
	tasks := map[task.ID]map[task.ID]task.Task{}
	for _, h := range of {
		tasks[h.Context] = map[task.ID]task.Task{h.ID: h.Task}
	}
	var ids []task.ID
	for _, item := range items {
		ids = append(ids, tasksOf(item)...)
	}
	heads, err := s.heads(ctx, false, ids)
	if err != nil {
		return nil, err
	}
	for _, h := range heads {
		if known := tasks[h.Context]; known[h.ID].Version <= h.Version {
			known[h.ID] = h.Task
		}
	}
	var found []contextSum
	for _, h := range of {
		var all []task.Task
		for _, t := range tasks[h.Context] {
			all = append(all, t)
		}
		found = append(found, contextOf(all))
	}
	return found, nil
}

// contextSum is a context and the position of its task that changed last.
type contextSum struct {
	task.Context
	newest []byte
}

// contextOf sums up the tasks of a context.
func contextOf(tasks []task.Task) (c contextSum) {
	var first task.Task
	for _, t := range tasks {
		if p := position(t.CreatedAt, t.ID); c.Tasks == 0 || bytes.Compare(p, position(first.CreatedAt, first.ID)) < 0 {
			first = t
		}
		c.Tasks++
		if !t.State.Terminal() {
			c.OpenTasks++
		}
		if p := position(t.UpdatedAt, t.ID); bytes.Compare(p, c.newest) > 0 {
			c.newest, c.UpdatedAt = p, t.UpdatedAt
		}
	}
	c.ID, c.CreatedAt = first.Context, first.CreatedAt
	c.Participants = [2]task.Party{first.Caller.Party, first.Target}
	return c
}
