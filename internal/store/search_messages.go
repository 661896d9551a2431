package store

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"baton/internal/search"
	"baton/internal/task"
)

// SearchMessages implements task.Store. Tasks are walked newest change first, and opened when one of their messages may
// be the next; a message's place is its time and its task. The position of a page's end says which opened tasks go on
// behind it, so that a page need not walk again over what changed later than its messages.
func (s *Tasks) SearchMessages(ctx context.Context, q task.MessageQuery) (page task.MessagePage, err error) {
	at, err := parseMessagePosition(q.After)
	if err != nil {
		return task.MessagePage{}, err
	}
	m := messageWalk{store: s, q: q, at: at.last, atOnce: readAtOnce, open: map[task.ID]*thread{}, met: map[task.ID]bool{}}
	if m.text, err = parseText(q.Text); err != nil {
		return task.MessagePage{}, err
	}
	changedSince := time.Now().Add(-indexLag).Truncate(indexLag)
	ctx, m.budget = withBudget(ctx, s.page)
	if err := m.start(ctx, at); err != nil {
		return task.MessagePage{}, err
	}
	for size := 0; len(page.Items) < q.Limit && size <= mostHistory; {
		found, ok, err := m.next(ctx)
		switch {
		case errors.Is(err, errSpent):
			page.Next = m.position(changedSince).bytes()
			return page, nil
		case err != nil:
			return task.MessagePage{}, err
		case !ok:
			return page, nil
		}
		page.Items = append(page.Items, found)
		size += found.Size()
	}
	if m.more(ctx) {
		page.Next = m.position(changedSince).bytes()
	}
	return page, nil
}

// messagePosition is where a page of messages ends.
type messagePosition struct {
	last []byte // the position of the last message looked at, nil before the first
	// Tasks that changed since must be looked for anew: all that were changed later than the last message, if it is zero.
	since time.Time
	goOn  []threadEnd
}

// threadEnd is a task whose changes up to a number, that one included, come behind a position.
type threadEnd struct {
	task   task.ID
	number int
}

// mostThreads bounds the length of a position. Where more tasks go on, they are looked for anew.
const mostThreads = 16

func (p messagePosition) bytes() []byte {
	b := packer(bytes.Clone(p.last))
	b.time(p.since)
	for _, end := range p.goOn {
		b.id(end.task)
		b.uint(3, uint64(end.number))
	}
	return b
}

func parseMessagePosition(b []byte) (p messagePosition, err error) {
	const fixed, each = positionSize + 6, 16 + 3
	if b == nil {
		return p, nil
	}
	if len(b) < fixed || (len(b)-fixed)%each != 0 || (len(b)-fixed)/each > mostThreads {
		return p, errCursor
	}
	u := unpacker{b: b}
	p.last = u.take(positionSize)
	p.since = u.time()
	for len(u.b) > 0 {
		p.goOn = append(p.goOn, threadEnd{u.id(), int(u.uint(3))})
	}
	return p, nil
}

// messageWalk merges the messages of tasks, newest first.
type messageWalk struct {
	store  *Tasks
	q      task.MessageQuery
	text   *search.Query
	budget *budget
	tasks  source // that changed before the position
	ahead  []head // taken from tasks, not yet looked at
	end    bool   // there is nothing more in tasks
	atOnce int    // how many tasks are looked into at once
	open   map[task.ID]*thread
	met    map[task.ID]bool // that are or were open
	at     []byte           // the position of the last message or task looked at
	moved  bool             // at is not what the page began with
}

// start opens the tasks that changed later than the position and go on behind it, and begins the walk over the others.
func (m *messageWalk) start(ctx context.Context, at messagePosition) error {
	var known []task.ID
	upTo := map[task.ID]int{}
	for _, end := range at.goOn {
		known = append(known, end.task)
		upTo[end.task] = end.number
	}
	heads, err := m.store.heads(ctx, true, known)
	if err != nil {
		return err
	}
	heads = slices.DeleteFunc(heads, func(h head) bool { return !onSide(h.Task, m.q.Identity, m.q.Direction) })
	above, below, err := m.sources(ctx, at)
	if err != nil {
		return err
	}
	m.tasks = below
	for {
		h, ok, err := above.next(ctx)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if upTo[h.ID] == 0 && m.wants(h) {
			upTo[h.ID] = h.Version
			heads = append(heads, h)
		}
	}
	_, err = m.openAll(ctx, heads, upTo)
	return err
}

// sources are the tasks that changed behind the position and since it was made, and those that changed before it.
func (m *messageWalk) sources(ctx context.Context, at messagePosition) (above, below source, err error) {
	oldest := since(m.q.Since)
	aboveFrom := at.last
	if !at.since.IsZero() {
		if p := since(at.since); bytes.Compare(p, aboveFrom) > 0 {
			aboveFrom = p
		}
	}
	if m.q.Task.IsZero() && m.q.Context.IsZero() {
		above = &these{}
		if at.last != nil {
			above = m.store.newWalk(func() bool { return false }, m.q.Identity, m.q.Direction, codesOf(""), span{from: aboveFrom}, task.MaxTasks)
		}
		return above, m.store.newWalk(m.spent, m.q.Identity, m.q.Direction, codesOf(""), span{oldest, at.last}, m.q.Limit), nil
	}
	var heads []head
	if m.q.Task.IsZero() {
		heads, err = m.store.contextHeads(ctx, m.q.Context, m.q.Identity)
	} else {
		heads, err = m.store.heads(ctx, true, []task.ID{m.q.Task})
	}
	if err != nil {
		return nil, nil, err
	}
	var later, earlier these
	for _, h := range heads {
		switch p := h.position(); {
		case !onSide(h.Task, m.q.Identity, m.q.Direction) || bytes.Compare(p, oldest) < 0:
		case at.last == nil || bytes.Compare(p, at.last) < 0:
			earlier = append(earlier, h)
		case bytes.Compare(p, aboveFrom) >= 0:
			later = append(later, h)
		}
	}
	return &later, &earlier, nil
}

// spent says that the page must end. It does not before it got anywhere.
func (m *messageWalk) spent() bool { return m.moved && m.budget.spent() }

// wants says whether the task may have a message that is asked for and not shown yet.
func (m *messageWalk) wants(h head) bool {
	return (m.at == nil || bytes.Compare(position(h.CreatedAt, h.ID), m.at) < 0) &&
		named(m.q.Requester, h.Caller.Party) && named(m.q.Worker, h.Target) &&
		(m.q.Context.IsZero() || m.q.Context == h.Context) &&
		(m.text == nil || h.words.MayHoldMessage(m.text))
}

// next is the next message that is asked for.
func (m *messageWalk) next(ctx context.Context) (task.FoundMessage, bool, error) {
	for {
		if m.spent() {
			return task.FoundMessage{}, false, errSpent
		}
		if err := m.lookAhead(ctx); err != nil {
			return task.FoundMessage{}, false, err
		}
		newest, err := m.newest(ctx)
		if err != nil {
			return task.FoundMessage{}, false, err
		}
		if len(m.ahead) > 0 && (newest == nil || bytes.Compare(m.ahead[0].position(), newest.position()) >= 0) {
			if err := m.openNext(ctx, newest); err != nil {
				return task.FoundMessage{}, false, err
			}
			continue
		}
		if newest == nil {
			return task.FoundMessage{}, false, nil
		}
		message := *newest.buffer[0].Message
		m.at, m.moved = newest.position(), true
		newest.buffer = newest.buffer[1:]
		if !m.q.Since.IsZero() && !message.CreatedAt.After(m.q.Since) {
			newest.buffer, newest.below = nil, 0 // and so are all before it
			continue
		}
		if (m.q.Role == "" || m.q.Role == message.Role) && m.holds(message) {
			return task.FoundMessage{Message: message, Of: newest.head.Task}, true, nil
		}
	}
}

func (m *messageWalk) holds(message task.Message) bool {
	if m.text == nil {
		return true
	}
	matcher := m.text.Message()
	addWords(matcher, &message)
	return matcher.Found()
}

// lookAhead takes tasks from the walk, as many as are opened at once.
func (m *messageWalk) lookAhead(ctx context.Context) error {
	for !m.end && len(m.ahead) == 0 {
		h, ok, err := m.tasks.next(ctx)
		if err != nil {
			return err
		}
		if !ok {
			m.end = true
			return nil
		}
		m.ahead = append(m.ahead, h)
	}
	return nil
}

// more says whether there may be more messages.
func (m *messageWalk) more(ctx context.Context) bool {
	err := m.lookAhead(ctx)
	if err != nil || len(m.ahead) > 0 {
		return true
	}
	for _, t := range m.open {
		if len(t.buffer) > 0 || t.goesOn() {
			return true
		}
	}
	return false
}

// openNext opens the task at the head of the walk, and with it, at once, the following ones that changed later than the
// newest message of those that are open.
func (m *messageWalk) openNext(ctx context.Context, newest *thread) error {
	var heads []head
	upTo := map[task.ID]int{}
	for len(heads) < m.atOnce {
		h := m.ahead[0]
		if newest != nil && bytes.Compare(h.position(), newest.position()) < 0 {
			break
		}
		m.ahead = m.ahead[1:]
		switch {
		case m.met[h.ID] || upTo[h.ID] > 0: // its newest message may have this very position
		case m.wants(h):
			heads = append(heads, h)
			upTo[h.ID] = h.Version
		case len(heads) == 0:
			m.at, m.moved = h.position(), true
		}
		err := m.lookAhead(ctx)
		if errors.Is(err, errSpent) {
			break // and said again when it is to be looked ahead again
		}
		if err != nil {
			return err
		}
		if len(m.ahead) == 0 {
			break
		}
	}
	opened, err := m.openAll(ctx, heads, upTo)
	if err == nil && opened == 0 && len(heads) > 0 {
		m.at, m.moved = heads[len(heads)-1].position(), true
	}
	if 2*opened < len(heads) {
		m.atOnce = min(2*m.atOnce, batchSize)
	} else {
		m.atOnce = readAtOnce
	}
	return err
}

// openAll opens those of the tasks that may have a message that is asked for, and says how many.
func (m *messageWalk) openAll(ctx context.Context, heads []head, upTo map[task.ID]int) (opened int, err error) {
	all, err := m.store.candidates(ctx, heads, m.text, true)
	if err != nil {
		return 0, err
	}
	errs := make([]error, len(all))
	var fills sync.WaitGroup
	for i, c := range all {
		t := &thread{store: m.store, head: c.head, below: upTo[c.ID], at: m.at}
		if c.rest != nil {
			t.above = c.after
		}
		m.open[c.ID], m.met[c.ID] = t, true
		fills.Go(func() { errs[i] = t.fill(ctx) })
	}
	fills.Wait()
	return len(all), errors.Join(errs...)
}

// newest is the open task with the newest message, nil when there is none.
func (m *messageWalk) newest(ctx context.Context) (newest *thread, err error) {
	for id, t := range m.open {
		if err := t.fill(ctx); err != nil {
			return nil, err
		}
		if len(t.buffer) == 0 {
			delete(m.open, id)
			continue
		}
		if newest == nil || bytes.Compare(t.position(), newest.position()) > 0 {
			newest = t
		}
	}
	return newest, nil
}

// position is where the page ends.
func (m *messageWalk) position(changedSince time.Time) messagePosition {
	p := messagePosition{last: m.at, since: changedSince}
	for _, t := range m.open {
		number := t.below
		if len(t.buffer) > 0 {
			number = t.buffer[0].Number
		}
		if len(t.buffer) > 0 || t.goesOn() {
			p.goOn = append(p.goOn, threadEnd{t.head.ID, number})
		}
	}
	if len(p.goOn) > mostThreads {
		p.goOn, p.since = nil, time.Time{}
	}
	return p
}

// thread is the messages of one task that come behind a position, newest first.
type thread struct {
	store  *Tasks
	head   head
	at     []byte        // nil for no bound
	buffer []task.Change // that have messages
	above  int           // no change up to this one has what is asked for
	below  int           // those from there up to this one are not read yet
	fills  int
}

// goesOn says whether there is more to read.
func (t *thread) goesOn() bool { return t.below > t.above }

func (t *thread) position() []byte { return position(t.buffer[0].At, t.head.ID) }

// The changes that a thread reads at once: few at first, since most tasks are short or show one or two.
const firstChanges, mostChanges = 20, 100

// fill reads until there is something, or nothing any more.
func (t *thread) fill(ctx context.Context) error {
	for len(t.buffer) == 0 && t.goesOn() {
		n := firstChanges
		if t.fills++; t.fills > 1 {
			n = mostChanges
		}
		from := max(t.above+1, t.below-n+1)
		var read []task.Change
		err := t.store.eachChange(ctx, t.head.ID, from, t.below, t.below-from+1, func(c changeParts) (bool, error) {
			if c.Message == nil || t.at != nil && bytes.Compare(position(c.At, t.head.ID), t.at) >= 0 {
				return true, nil
			}
			change, err := c.change()
			read = append(read, change)
			return true, err
		})
		if err != nil {
			return err
		}
		for i := range read {
			t.buffer = append(t.buffer, read[len(read)-1-i])
		}
		t.below = from - 1
	}
	return nil
}
