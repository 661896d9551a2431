package relay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
)

// follower reads a log as a client does, page after page, and now and then forgets its last page: as when an answer was
// lost.
type follower struct {
	w     *world
	seen  []task.Event
	query task.EventQuery
}

func (f *follower) follow(ctx context.Context, reader *task.Events, done func() bool) error {
	position, err := reader.Since(ctx, f.query.Organization, time.Time{})
	if err != nil {
		return err
	}
	for last := false; ; {
		page, next, atEnd, err := reader.Page(ctx, f.query, position, 1+rand.IntN(20))
		if errors.Is(err, task.ErrUnavailable) {
			continue
		}
		if err != nil {
			return err
		}
		if rand.IntN(10) == 0 {
			continue
		}
		f.seen, position = append(f.seen, page...), next
		if atEnd && last {
			return nil
		}
		last = atEnd && done()
	}
}

// Ten writers, two relays that get each other's batches, answers that get lost, crashes between log and bus: whoever
// follows the log sees every event once, in order.
func TestReaderSeesEachEventOnce(t *testing.T) {
	w := newWorld(t)
	requester, worker := task.NewID(), task.NewID()
	w.listen(requester)
	heard := w.listen(worker)
	const writers, tasks = 10, 8
	// Each task's records come by one shard. What one relay has told, the other is given too.
	var shards [2]chan []events.DynamoDBEventRecord
	for i := range shards {
		shards[i] = make(chan []events.DynamoDBEventRecord, writers*tasks*2)
	}
	told := make(chan []events.DynamoDBEventRecord, 2*writers*tasks)

	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for range tasks {
				records := aConversation(w.talk(requester, worker))
				cut := rand.IntN(len(records))
				shards[i%2] <- records[:cut]
				shards[i%2] <- records[cut:]
			}
		})
	}
	go func() {
		writing.Wait()
		for _, shard := range shards {
			close(shard)
		}
	}()

	for i := range 12 {
		w.faults.On("TransactWriteItems").After(9*i + 3).Lose()
		w.faults.On("TransactWriteItems").After(9*i + 7).Refuse()
		w.faults.On("PutEvents").After(13*i+5).Fail(500, "InternalFailure")
		w.faults.On("Query").After(11*i + 2).Throttle()
	}
	var relaying sync.WaitGroup
	for _, shard := range shards {
		relaying.Go(func() {
			for batch := range shard {
				for ctx, again := t.Context(), true; again; {
					attempt, crash := context.WithCancel(ctx)
					if rand.IntN(8) == 0 {
						time.AfterFunc(time.Duration(rand.IntN(30))*time.Millisecond, crash)
					}
					again = w.deliverIn(attempt, batch...) != nil
					crash()
				}
				if rand.IntN(3) == 0 {
					told <- batch
				}
				select {
				case old := <-told:
					w.deliver(old...)
				default:
				}
			}
		})
	}
	var finished sync.Map
	done := func() bool { _, ok := finished.Load("relaying"); return ok }
	reader := task.NewEvents(w.log, time.Now)
	f := &follower{w: w, query: task.EventQuery{Organization: requester}}
	mine := &follower{w: w, query: task.EventQuery{Organization: worker, Type: task.EventCreated}}
	var following sync.WaitGroup
	for _, f := range []*follower{f, mine} {
		following.Go(func() {
			if err := f.follow(t.Context(), reader, done); err != nil {
				t.Error(err)
			}
		})
	}
	relaying.Wait()
	finished.Store("relaying", true)
	following.Wait()

	if logged := w.entries(requester); !slices.EqualFunc(f.seen, logged, func(a, b task.Event) bool { return a.ID == b.ID }) {
		t.Errorf("saw %d events, the log has %d", len(f.seen), len(logged))
	}
	if len(f.seen) != 4*writers*tasks {
		t.Errorf("saw %d of the requester's events, want %d", len(f.seen), 4*writers*tasks)
	}
	seen := map[task.ID]bool{}
	for _, e := range mine.seen {
		if e.Type != task.EventCreated || seen[e.ID] {
			t.Errorf("saw %s %s", e.Type, e.ID)
		}
		seen[e.ID] = true
	}
	if len(seen) != writers*tasks {
		t.Errorf("saw %d creations, want %d", len(seen), writers*tasks)
	}
	w.faults.Reset()
	for w.head(worker).ParkedFrom != 0 {
		if err := w.unpark.All(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := heard.sequences(); !slices.Equal(got, upTo(2*writers*tasks)) {
		t.Errorf("the bus had %d of %d", len(got), 2*writers*tasks)
	}
}

func TestFollowerCutOffAtEveryPointGoesOn(t *testing.T) {
	w := newWorld(t)
	org, k := w.ownTask()
	w.listen(org)
	w.deliver(replies(k, 12)...)
	reader := task.NewEvents(w.log, time.Now)
	query := task.EventQuery{Organization: org}
	start, err := reader.Since(t.Context(), org, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	cut := errors.New("cut")
	for at := range 13 {
		var seen []int64
		position := start
		for connection := 0; len(seen) < 12; connection++ {
			n := 0
			err := reader.Follow(t.Context(), query, position, time.Now(), time.Hour, func(e *task.Event, behind task.Position) error {
				if connection == 0 && n == at {
					return cut // the event did not arrive
				}
				n++
				seen = append(seen, e.Sequence)
				position = behind
				return nil
			})
			if err != nil && !errors.Is(err, cut) {
				t.Fatal(err)
			}
		}
		if !slices.Equal(seen, upTo(12)) {
			t.Errorf("cut at %d: saw %v", at, seen)
		}
	}
}

func TestWait(t *testing.T) {
	w := newWorld(t)
	org, k := w.ownTask()
	w.listen(org)
	w.deliver(replies(k, 3)...)
	reader := task.NewEvents(w.log, time.Now)
	query := task.EventQuery{Organization: org, Task: k.Task, Type: task.EventUpdated}
	end, err := reader.End(t.Context(), org)
	if err != nil {
		t.Fatal(err)
	}
	if e, next, err := reader.Wait(t.Context(), query, end, 0); err != nil || e != nil || next.After != 3 {
		t.Errorf("at the end: %v, %+v, %v", e, next, err)
	}
	other := w.talk(org, org)
	other.next(task.CauseSent, "x")
	time.AfterFunc(150*time.Millisecond, func() { w.deliver(replies(other, 1)...) })
	time.AfterFunc(300*time.Millisecond, func() { w.deliver(replies(k, 1)...) })
	began := time.Now()
	e, next, err := reader.Wait(t.Context(), query, end, 10*time.Second)
	if err != nil || e == nil || e.Sequence != 5 || e.Type != task.EventUpdated || next.After != 5 {
		t.Errorf("%+v, %+v, %v", e, next, err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestWaitingCostsLittle(t *testing.T) {
	w := newWorld(t)
	org, k := w.ownTask()
	w.listen(org)
	w.deliver(replies(k, 1)...)
	reader := task.NewEvents(w.log, time.Now)
	end, err := reader.End(t.Context(), org)
	if err != nil {
		t.Fatal(err)
	}
	w.faults.Reset()
	if e, _, err := reader.Wait(t.Context(), task.EventQuery{Organization: org}, end, 5*time.Second); err != nil || e != nil {
		t.Error(e, err)
	}
	read, _ := w.faults.Units()
	t.Logf("%v read units in 5 s", read)
	if read > 6 {
		t.Errorf("%v read units in 5 s, want at most 6", read)
	}
}

func TestPositionOlderThanTheLogIsKept(t *testing.T) {
	w := newWorld(t)
	org, k := w.ownTask()
	w.listen(org)
	w.deliver(replies(k, 3)...)
	reader := task.NewEvents(w.log, w.clock.Now)
	query := task.EventQuery{Organization: org}
	start, err := reader.Since(t.Context(), org, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	_, middle, _, err := reader.Page(t.Context(), query, start, 2)
	if err != nil {
		t.Fatal(err)
	}
	_, end, _, err := reader.Page(t.Context(), query, middle, 2)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Forward(task.EventsKept - time.Hour)
	if page, _, _, err := reader.Page(t.Context(), query, middle, 2); err != nil || len(page) != 1 {
		t.Errorf("before: %d events, %v", len(page), err)
	}
	w.clock.Forward(2 * time.Hour)
	for name, position := range map[string]task.Position{"in the middle": middle, "at the end": end} {
		if _, _, _, err := reader.Page(t.Context(), query, position, 2); !errors.Is(err, task.ErrGone) {
			t.Errorf("%s: %v, want ErrGone", name, err)
		}
	}
	fresh, err := reader.Since(t.Context(), org, time.Time{})
	if err != nil || fresh.After != 3 {
		t.Errorf("from the start, %d is passed over, want 3; %v", fresh.After, err)
	}
}

func TestFilters(t *testing.T) {
	w := newWorld(t)
	both := task.NewID()
	w.listen(both)
	k := w.talk(both, both)
	w.deliver(aConversation(k)...)
	w.deliver(aConversation(w.talk(both, both))...)
	reader := task.NewEvents(w.log, time.Now)
	for name, c := range map[string]struct {
		query task.EventQuery
		want  string
	}{
		"all":              {task.EventQuery{}, "12"},
		"a task":           {task.EventQuery{Task: k.Task}, "6"},
		"an agent":         {task.EventQuery{Identity: k.Target.Identity}, "2"},
		"a type":           {task.EventQuery{Type: task.EventSentUpdated}, "8"},
		"its older name":   {task.EventQuery{Type: task.EventUpdated}, "8"},
		"a task's updates": {task.EventQuery{Task: k.Task, Type: task.EventUpdated}, "4"},
		"nothing":          {task.EventQuery{Task: task.NewID()}, "0"},
	} {
		c.query.Organization = both
		start, err := reader.Since(t.Context(), both, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		page, next, atEnd, err := reader.Page(t.Context(), c.query, start, 100)
		if err != nil || fmt.Sprint(len(page)) != c.want || !atEnd || next.After != 12 {
			t.Errorf("%s: %d events, at %d, %v", name, len(page), next.After, err)
		}
		for _, e := range page {
			if c.query.Type != "" && e.Type != c.query.Type {
				t.Errorf("%s: shown as %s", name, e.Type)
			}
		}
	}
}

func TestLongTextIsReadFromTheChange(t *testing.T) {
	w := newWorld(t)
	org, k := w.ownTask()
	w.listen(org)
	long := string(slices.Repeat([]byte("long "), 1000))
	w.deliver(k.next(task.CauseReply, long), k.next(task.CauseMessage, "short"))
	reader := task.NewEvents(w.log, time.Now)
	page, _, _, err := reader.Page(t.Context(), task.EventQuery{Organization: org}, task.Position{AsOf: time.Now()}, 10)
	if err != nil || len(page) != 2 {
		t.Fatal(page, err)
	}
	for i, texts := range [][2]string{{long, long}, {"short", long}} {
		if page[i].Message.Text != texts[0] || page[i].Result.Text != texts[1] || page[i].Message.Cut || page[i].Result.Cut {
			t.Errorf("event %d has %d and %d bytes", i+1, len(page[i].Message.Text), len(page[i].Result.Text))
		}
	}
}
