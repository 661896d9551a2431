package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/internal/localaws"
	"baton/internal/store"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// bench is the service on a real table.
type bench struct {
	*testing.T
	*task.Service
	tasks  *store.Tasks
	db     *dynamodb.Client
	table  string
	faults *localaws.Faults
	from   task.Caller
	to     task.Party
}

func newBench(t *testing.T) *bench {
	t.Helper()
	config, faults := localaws.Config(t)
	db := store.NewClient(dynamodb.Options{
		Region: config.Region, BaseEndpoint: config.BaseEndpoint, Credentials: config.Credentials, HTTPClient: config.HTTPClient,
	})
	table := localaws.NewTable(t, "TasksTable")
	tasks := store.NewTasks(db, table)
	handle := strings.Repeat("h", 32)
	return &bench{
		T: t, Service: task.NewService(tasks, time.Now), tasks: tasks, db: db, table: table, faults: faults,
		from: task.Caller{Party: task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: handle}},
		to:   task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: handle},
	}
}

func text(s string) task.Draft { return task.Draft{Parts: []task.Part{{Text: &s}}} }

func withID(d task.Draft, id string) task.Draft { d.MessageID = id; return d }

func (b *bench) send(d task.Draft) task.View {
	b.Helper()
	v, _, err := b.Send(b.Context(), task.Send{From: b.from, To: b.to, Message: d})
	if err != nil {
		b.Fatal(err)
	}
	return v
}

func (b *bench) as(p task.Party, v task.View) task.Edit {
	return task.Edit{Task: v.ID, Viewer: task.Viewer{Identity: p.Identity, Organization: p.Organization}}
}

// cost runs a call and returns what it cost.
func (b *bench) cost(call func(context.Context) error) (read, write float64, calls int) {
	b.Helper()
	ctx, usage := store.WithUsage(b.Context())
	if err := call(ctx); err != nil {
		b.Fatal(err)
	}
	return usage.Total()
}

func TestConversation(t *testing.T) {
	b := newBench(t)
	v := b.send(text("Refund order 4182"))
	worker, requester := b.as(b.to, v), b.as(b.from.Party, v)
	if _, err := b.Reply(t.Context(), worker, task.AskCaller, task.ID{}, text("How much?")); err != nil {
		t.Fatal(err)
	}
	if v, err := b.AddMessage(t.Context(), requester, text("42")); err != nil || v.State != task.Working {
		t.Fatal(v.State, err)
	}
	want, err := b.Reply(t.Context(), worker, task.Complete, task.ID{}, text("Done"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Read(t.Context(), worker.Viewer, v.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []task.View{want, got} {
		if v.State != task.Completed || len(v.History) != 4 || v.LatestText != "Done" || v.FirstText != "Refund order 4182" ||
			v.Artifact == nil || v.Version != 4 {
			t.Errorf("got %+v", v)
		}
	}
	if _, err := b.AddMessage(t.Context(), requester, text("more")); !errors.Is(err, task.ErrTerminal) {
		t.Errorf("add to a completed task: %v", err)
	}
	page, err := b.List(t.Context(), task.Query{Identity: b.to.Identity, Limit: 10})
	if err != nil || len(page.Items) != 1 || page.Next != nil {
		t.Errorf("list: %+v, %v", page, err)
	}
}

// The budgets of the design, with the longest handles and clips in scripts of one to four bytes a character.
func TestWriteUnits(t *testing.T) {
	for _, r := range []string{"x", "é", "語", "😀"} {
		b := newBench(t)
		long := strings.Repeat(r, 300)[:256]
		var v task.View
		check := func(what string, calls int, call func(ctx context.Context) error) {
			t.Helper()
			_, write, n := b.cost(call)
			if write != 8 || n != calls {
				t.Errorf("%s of %s: %v write units, %d round trips", what, r, write, n)
			}
		}
		check("send", 1, func(ctx context.Context) (err error) {
			v, _, err = b.Send(ctx, task.Send{From: b.from, To: b.to, Message: withID(text(long), "first")})
			return err
		})
		check("send into a conversation", 1, func(ctx context.Context) error {
			_, _, err := b.Send(ctx, task.Send{From: b.from, To: b.to, Context: v.Context, Message: withID(text(long), "next")})
			return err
		})
		worker, requester := b.as(b.to, v), b.as(b.from.Party, v)
		check("reply", 2, func(ctx context.Context) error {
			_, err := b.Reply(ctx, worker, task.AskCaller, task.ID{}, withID(text(long), "second"))
			return err
		})
		check("add", 2, func(ctx context.Context) error {
			_, err := b.AddMessage(ctx, requester, withID(text(long), "third"))
			return err
		})
		check("cancel", 2, func(ctx context.Context) error {
			_, err := b.Cancel(ctx, requester, "fourth", false)
			return err
		})
	}
}

func TestLongTask(t *testing.T) {
	b := newBench(t)
	long := strings.Repeat("wörter ", 40)
	v := b.send(withID(text(long), "m0"))
	worker := b.as(b.to, v)
	worker.Minimal = true
	sum, first, last := 8.0, 8.0, 0.0 // units of all messages, the first 50 and the last 50
	for i := 1; i < task.MaxMessages; i++ {
		read, write, calls := b.cost(func(ctx context.Context) error {
			_, err := b.Reply(ctx, worker, task.Progress, task.ID{}, withID(text(long), fmt.Sprintf("m%d", i)))
			return err
		})
		sum += write
		switch {
		case i < 50:
			first += write
		case i >= task.MaxMessages-50:
			last += write
		}
		if archived := write > 10; write > 16 || !archived && (read > 2 || calls != 2) || archived && (read > 10 || calls > 4) {
			t.Fatalf("message %d: %v write units, %v read units, %d round trips", i, write, read, calls)
		}
	}
	if mean := sum / task.MaxMessages; mean > 9 {
		t.Errorf("mean of %v write units", mean)
	}
	t.Logf("mean %v, first 50 %v, last 50 %v write units", sum/task.MaxMessages, first, last)
	if last > first {
		t.Errorf("the last 50 writes cost %v units, the first 50 cost %v", last, first)
	}
	stored := mustLoad(b, v.ID)
	for i := range task.MaxMessages {
		by := task.ByAgent
		if i == 0 {
			by = task.ByCaller
		}
		if !stored.HasSeen(by, fmt.Sprintf("m%d", i)) {
			t.Errorf("message id %d is forgotten", i)
		}
		if i%50 != 1 {
			continue
		}
		again, err := b.Reply(t.Context(), worker, task.Progress, task.ID{}, withID(text("again"), fmt.Sprintf("m%d", i)))
		if err != nil || again.Version != task.MaxMessages {
			t.Errorf("replay %d: version %d, %v", i, again.Version, err)
		}
	}
	if _, err := b.Reply(t.Context(), worker, task.Progress, task.ID{}, text("one more")); !errors.Is(err, task.ErrTaskFull) {
		t.Errorf("501st message: %v", err)
	}
	full, err := b.Read(t.Context(), worker.Viewer, v.ID, false)
	if err != nil || len(full.History) != 100 || !full.Truncated {
		t.Errorf("%d messages, truncated %v, %v", len(full.History), full.Truncated, err)
	}
	count := 0
	for after := 0; ; {
		page, next, err := b.Service.History(t.Context(), worker.Viewer, v.ID, after, 60)
		if err != nil {
			t.Fatal(err)
		}
		count += len(page)
		if next == 0 {
			break
		}
		after = next
	}
	if count != task.MaxMessages {
		t.Errorf("history has %d messages", count)
	}
}

func TestReadUnits(t *testing.T) {
	b := newBench(t)
	v := b.send(text("Refund order 4182"))
	if _, err := b.Reply(t.Context(), b.as(b.to, v), task.AskCaller, task.ID{}, text("How much?")); err != nil {
		t.Fatal(err)
	}
	for _, minimal := range []bool{false, true} {
		read, write, calls := b.cost(func(ctx context.Context) error {
			_, err := b.Read(ctx, b.as(b.to, v).Viewer, v.ID, minimal)
			return err
		})
		if read != 1 || write != 0 || calls != 1 {
			t.Errorf("a short task, minimal %v: %v read units, %v write units, %d round trips", minimal, read, write, calls)
		}
	}
}

// firstQuery is more than a first read of a task takes.
const firstQuery = task.NewestMessages + 20

// Texts that the newest messages don't hold are read once more, side by side.
func TestTextsOutsideThePage(t *testing.T) {
	b := newBench(t)
	request, result := strings.Repeat("request ", 60), strings.Repeat("result ", 60)
	v := b.send(text(request))
	if _, err := b.Reply(t.Context(), b.as(b.to, v), task.Progress, task.ID{}, text(result)); err != nil {
		t.Fatal(err)
	}
	e := b.as(b.from.Party, v)
	e.Minimal = true
	for range firstQuery {
		if _, err := b.AddMessage(t.Context(), e, text("x")); err != nil {
			t.Fatal(err)
		}
	}
	_, _, calls := b.cost(func(ctx context.Context) error {
		got, err := b.Read(ctx, e.Viewer, v.ID, false)
		if err == nil && (got.FirstText != request || got.LatestText != result || !got.Truncated || len(got.History) != 100) {
			err = fmt.Errorf("%d and %d characters, %d messages, truncated %v", len(got.FirstText), len(got.LatestText), len(got.History), got.Truncated)
		}
		return err
	})
	if calls != 3 {
		t.Errorf("%d calls", calls)
	}
}

func TestLargeMessage(t *testing.T) {
	b := newBench(t)
	var parts []task.Part
	for i := range 4 {
		var s strings.Builder
		for j := 0; s.Len() < 250_000; j++ {
			fmt.Fprintf(&s, "%x", (i+7)*(j+13)*2654435761)
		}
		parts = append(parts, task.Part{Text: new(s.String())})
	}
	v := b.send(task.Draft{Parts: parts})
	got, err := b.Read(t.Context(), b.as(b.to, v).Viewer, v.ID, false)
	if err != nil || len(got.History) != 1 || *got.History[0].Parts[3].Text != *parts[3].Text || got.FirstText != v.FirstText {
		t.Errorf("got %d messages, %v", len(got.History), err)
	}
}

func TestConcurrentWrites(t *testing.T) {
	b := newBench(t)
	v := b.send(text("go"))
	var wg sync.WaitGroup
	won := make(chan task.View, 50)
	for i := range 50 {
		wg.Go(func() {
			v, err := b.Reply(t.Context(), b.as(b.to, v), task.Complete, task.ID{}, text(fmt.Sprint(i)))
			switch {
			case err == nil:
				won <- v
			case !errors.Is(err, task.ErrTerminal):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Errorf("%d won", len(won))
	}
	got, err := b.Read(t.Context(), b.as(b.to, v).Viewer, v.ID, false)
	if err != nil || len(got.History) != 2 {
		t.Errorf("%d messages, %v", len(got.History), err)
	}
}
