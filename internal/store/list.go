package store

import (
	"bytes"
	"context"
	"errors"

	"baton/internal/search"
	"baton/internal/task"
)

// List implements task.Store. The position of a page's end is that of the last head looked at, shown or not; it serves
// all sides and states.
func (s *Tasks) List(ctx context.Context, q task.Query) (page task.Page, err error) {
	if q.After != nil && len(q.After) != positionSize {
		return task.Page{}, errCursor
	}
	text, err := parseText(q.Text)
	if err != nil {
		return task.Page{}, err
	}
	ctx, budget := withBudget(ctx, s.page)
	from, err := s.listed(ctx, budget, q)
	if err != nil {
		return task.Page{}, err
	}
	shown := map[task.ID]bool{}
	last := q.After
	for atOnce := min(q.Limit, readAtOnce); ; {
		var heads []head
		for err == nil && (text == nil && len(heads) < q.Limit-len(page.Items) || text != nil && len(heads) < atOnce) {
			var h head
			var ok bool
			if h, ok, err = from.next(ctx); err != nil || !ok {
				if err == nil {
					err = errEnd
				}
				break
			}
			last = h.position()
			// The index is behind the table: a task may still stand at its old place, too.
			if !shown[h.ID] && matches(q, h.Task) && (text == nil || h.words.MayHold(text)) {
				shown[h.ID] = true
				heads = append(heads, h)
			}
		}
		if err != nil && err != errEnd && err != errSpent {
			return task.Page{}, err
		}
		all, wrong := s.candidates(ctx, heads, text, false)
		if wrong != nil {
			return task.Page{}, wrong
		}
		if 2*len(all) < len(heads) {
			atOnce = min(2*atOnce, batchSize) // archives are cheap to look into, a hundred at once
		}
		for len(all) > 0 && len(page.Items) < q.Limit {
			n := min(len(all), q.Limit-len(page.Items))
			if text != nil {
				n = min(n, readAtOnce)
			}
			found, wrong := s.holding(ctx, all[:n], text)
			if wrong != nil {
				return task.Page{}, wrong
			}
			for _, h := range found {
				page.Items = append(page.Items, h.Task)
			}
			if len(page.Items) == q.Limit && n < len(all) {
				page.Next = all[n-1].position()
				return page, nil
			}
			all = all[n:]
		}
		switch {
		case err == errEnd:
			return page, nil
		case len(page.Items) == q.Limit:
			if _, more, err := from.next(ctx); more || err != nil {
				page.Next = last
			}
			return page, nil
		case err == errSpent, budget.spent():
			page.Next = last
			return page, nil
		}
	}
}

var (
	errCursor = task.Invalid{{Field: "cursor", Message: "is not one of this list"}}
	errEnd    = errors.New("store: end of the list")
)

// readAtOnce is how many tasks are read side by side, to look into them.
const readAtOnce = 16

// parseText is nil for no text. What is wrong with it is an Invalid.
func parseText(text string) (*search.Query, error) {
	if text == "" {
		return nil, nil
	}
	q, err := search.ParseQuery(text)
	if err != nil {
		return nil, task.Invalid{{Field: "q", Message: err.Error()}}
	}
	return q, nil
}

// listed are the heads that q may ask for: of one context, or of the identity.
func (s *Tasks) listed(ctx context.Context, b *budget, q task.Query) (source, error) {
	of := span{from: since(q.Since), to: q.After}
	if q.Context.IsZero() {
		return s.newWalk(b.spent, q.Identity, q.Direction, codesOf(q.State), of, q.Limit), nil
	}
	heads, err := s.contextHeads(ctx, q.Context, q.Identity)
	if err != nil {
		return nil, err
	}
	var listed these
	for _, h := range heads {
		p := h.position()
		if onSide(h.Task, q.Identity, q.Direction) && (q.State == "" || q.State == h.State) &&
			bytes.Compare(p, of.from) >= 0 && (of.to == nil || bytes.Compare(p, of.to) < 0) {
			listed = append(listed, h)
		}
	}
	return &listed, nil
}

func onSide(t task.Task, identity task.ID, d task.Direction) bool {
	return d != task.Outbound && t.Target.Identity == identity || d != task.Inbound && t.Caller.Identity == identity
}

// matches applies the filters that no index answers.
func matches(q task.Query, t task.Task) bool {
	return named(q.Requester, t.Caller.Party) && named(q.Worker, t.Target) &&
		(q.CreatedSince.IsZero() || !t.CreatedAt.Before(q.CreatedSince))
}

// named says whether a filter by a handle or an id, which no handle is as long as, is empty or means the party.
func named(filter string, p task.Party) bool {
	return filter == "" || filter == p.Handle || filter == p.Identity.String()
}
