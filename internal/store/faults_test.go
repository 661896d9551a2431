package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/internal/localaws"
	"baton/internal/store"
	"baton/internal/task"
	"baton/internal/webhook"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
)

// canceled is how DynamoDB cancels a transaction, with a reason for each action.
func canceled(codes ...string) string {
	var reasons []string
	for _, code := range codes {
		reasons = append(reasons, fmt.Sprintf(`{"Code":%q,"Message":"made by the test"}`, code))
	}
	return fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"made by the test","CancellationReasons":[%s]}`,
		strings.Join(reasons, ","))
}

// write is one kind of write, and what the task has when it was made exactly once.
type write struct {
	name              string
	version, messages int
	state             task.State
	make              func(ctx context.Context, b *bench, v task.View) (task.View, error)
}

func writes() []write {
	return []write{
		{"reply", 2, 2, task.Working, func(ctx context.Context, b *bench, v task.View) (task.View, error) {
			return b.Reply(ctx, b.as(b.to, v), task.Progress, task.ID{}, text("on it"))
		}},
		{"add", 2, 2, task.Submitted, func(ctx context.Context, b *bench, v task.View) (task.View, error) {
			return b.AddMessage(ctx, b.as(b.from.Party, v), text("more"))
		}},
		{"complete", 2, 2, task.Completed, func(ctx context.Context, b *bench, v task.View) (task.View, error) {
			return b.Reply(ctx, b.as(b.to, v), task.Complete, task.ID{}, text("done"))
		}},
		{"set", 2, 1, task.InputRequired, func(ctx context.Context, b *bench, v task.View) (task.View, error) {
			return b.Set(ctx, b.as(b.to, v), task.InputRequired, task.Draft{})
		}},
		{"cancel", 2, 1, task.Canceled, func(ctx context.Context, b *bench, v task.View) (task.View, error) {
			return b.Cancel(ctx, b.as(b.from.Party, v), "", false)
		}},
	}
}

// in is the same bench in a subtest.
func (b *bench) in(t *testing.T) *bench {
	inner := *b
	inner.T = t
	return &inner
}

// whole reads a task back and checks that it is what the writer was told, and nothing twice or half.
func (b *bench) whole(told task.View, version, messages int, state task.State) {
	b.Helper()
	got, err := b.tasks.Load(b.Context(), told.ID, false)
	if err != nil {
		b.Fatal(err)
	}
	history, next, err := b.tasks.History(b.Context(), told.ID, 0, 1000)
	if err != nil || next != 0 {
		b.Fatal(next, err)
	}
	for _, v := range []task.View{told, got} {
		if v.Version != version || v.State != state || v.Messages != messages {
			b.Errorf("version %d with %d messages, %s; want %d, %d, %s", v.Version, v.Messages, v.State, version, messages, state)
		}
	}
	if len(history) != messages || len(got.History) != messages {
		b.Errorf("%d messages, %d of them in the answer, want %d", len(history), len(got.History), messages)
	}
	if _, err := b.tasks.Change(b.Context(), told.ID, version); err != nil {
		b.Errorf("change %d: %v", version, err)
	}
	if _, err := b.tasks.Change(b.Context(), told.ID, version+1); !errors.Is(err, task.ErrNotFound) {
		b.Errorf("change %d: %v", version+1, err)
	}
}

// A write that was made, but whose answer was lost, is a success and is not made again. None of these has a message
// id: the attempt in the head is the only protection.
func TestLostAnswer(t *testing.T) {
	b := newBench(t)
	lose := map[string]func(){
		"the SDK tries again": func() { b.faults.On("TransactWriteItems").Lose() },
		"the store tries again": func() {
			b.faults.On("TransactWriteItems").AnswerAfter(http.StatusBadRequest, canceled("TransactionConflict", "TransactionConflict"))
		},
	}
	for how, fault := range lose {
		t.Run("send, "+how, func(t *testing.T) {
			b := b.in(t)
			fault()
			defer b.faults.Reset()
			v, created, err := b.Send(t.Context(), task.Send{From: b.from, To: b.to, Message: text("please")})
			if err != nil || !created {
				t.Fatal(created, err)
			}
			b.whole(v, 1, 1, task.Submitted)
		})
		for _, w := range writes() {
			t.Run(w.name+", "+how, func(t *testing.T) {
				b := b.in(t)
				v := b.send(text("please"))
				fault()
				defer b.faults.Reset()
				told, err := w.make(t.Context(), b, v)
				if err != nil {
					t.Fatal(err)
				}
				b.whole(told, w.version, w.messages, w.state)
			})
		}
	}
}

// So it is when others have written since.
func TestLostAnswerAndOvertaken(t *testing.T) {
	b := newBench(t)
	for _, w := range writes() {
		if w.state.Terminal() {
			continue // nothing comes after it
		}
		t.Run(w.name, func(t *testing.T) {
			b := b.in(t)
			v := b.send(text("please"))
			b.faults.On("TransactWriteItems").AnswerAfter(http.StatusBadRequest, canceled("TransactionConflict", "TransactionConflict"))
			b.faults.On("TransactWriteItems").Hold(func() {
				if _, err := b.Cancel(t.Context(), b.as(b.from.Party, v), "", false); err != nil {
					t.Error(err)
				}
			})
			defer b.faults.Reset()
			told, err := w.make(t.Context(), b, v)
			if err != nil || told.Version != 2 || told.State != w.state {
				t.Errorf("version %d, %s, %v", told.Version, told.State, err)
			}
			b.whole(mustLoad(b, v.ID), 3, w.messages, task.Canceled)
		})
	}
}

// When nothing comes back at all the caller is told so, and its retry by message id finds what was done.
func TestRetryAfterGivingUp(t *testing.T) {
	b := newBench(t)
	d := withID(text("please"), "first")
	b.faults.On("TransactWriteItems").Always().Lose()
	_, _, err := b.Send(t.Context(), task.Send{From: b.from, To: b.to, Message: d})
	b.faults.Reset()
	if !errors.Is(err, task.ErrUnavailable) {
		t.Fatal(err)
	}
	v, created, err := b.Send(t.Context(), task.Send{From: b.from, To: b.to, Message: d})
	if err != nil || created {
		t.Fatal(created, err)
	}
	b.whole(v, 1, 1, task.Submitted)

	reply := func() (task.View, error) {
		return b.Reply(t.Context(), b.as(b.to, v), task.Complete, task.ID{}, withID(text("done"), "second"))
	}
	b.faults.On("TransactWriteItems").Always().Lose()
	_, err = reply()
	b.faults.Reset()
	if !errors.Is(err, task.ErrUnavailable) {
		t.Fatal(err)
	}
	told, err := reply() // the task ended: a retry all the same
	if err != nil {
		t.Fatal(err)
	}
	b.whole(told, 2, 2, task.Completed)
}

// Transactions of others in the way are waited out; a write that storage refuses for another reason is not repeated.
func TestConflicts(t *testing.T) {
	b := newBench(t)
	for _, w := range writes() {
		v := b.send(text("please"))
		b.faults.Reset()
		b.faults.On("TransactWriteItems").Times(3).Answer(http.StatusBadRequest, canceled("TransactionConflict", "ThrottlingError"))
		told, err := w.make(t.Context(), b, v)
		if err != nil {
			t.Fatal(w.name, err)
		}
		if n := b.faults.Count("TransactWriteItems"); n != 4 {
			t.Errorf("%s: %d tries", w.name, n)
		}
		b.faults.Reset()
		b.whole(told, w.version, w.messages, w.state)
	}
	told := b.send(text("please"))
	b.faults.Reset()
	b.faults.On("TransactWriteItems").Times(4).Fail(http.StatusBadRequest, "TransactionInProgressException") // longer than the SDK tries
	told, err := b.Reply(t.Context(), b.as(b.to, told), task.Progress, task.ID{}, text("x"))
	if n := b.faults.Count("TransactWriteItems"); err != nil || n != 5 {
		t.Fatalf("in progress: %v after %d tries", err, n)
	}
	b.faults.Reset()
	b.whole(told, 2, 2, task.Working)
	v := b.send(text("please"))
	b.faults.Reset()
	b.faults.On("TransactWriteItems").Always().Answer(http.StatusBadRequest, canceled("TransactionConflict", "ItemCollectionSizeLimitExceeded"))
	_, err = b.Reply(t.Context(), b.as(b.to, v), task.Progress, task.ID{}, text("x"))
	if n := b.faults.Count("TransactWriteItems"); !errors.Is(err, task.ErrUnavailable) || n != 1 {
		t.Errorf("refused: %v after %d tries", err, n)
	}
	b.faults.Reset()
	b.faults.On("TransactWriteItems").Always().Answer(http.StatusBadRequest, canceled("TransactionConflict", "None"))
	_, err = b.Reply(t.Context(), b.as(b.to, v), task.Progress, task.ID{}, text("x"))
	if n := b.faults.Count("TransactWriteItems"); !errors.Is(err, task.ErrConflict) || n < 10 {
		t.Errorf("always in the way: %v after %d tries", err, n)
	}
	b.faults.Reset()
	b.whole(v, 1, 1, task.Submitted)
}

func TestUnavailable(t *testing.T) {
	b := newBench(t)
	v := b.send(text("please"))
	calls := map[string]func() error{
		"load": func() error { _, err := b.tasks.Load(t.Context(), v.ID, false); return err },
		"list": func() error {
			_, err := b.List(t.Context(), task.Query{Identity: b.to.Identity, Limit: 5})
			return err
		},
		"history": func() error { _, _, err := b.tasks.History(t.Context(), v.ID, 0, 5); return err },
		"claimable": func() error {
			_, err := b.tasks.Claimable(t.Context(), b.to.Identity, 5, v.UpdatedAt)
			return err
		},
		"send": func() error {
			_, _, err := b.Send(t.Context(), task.Send{From: b.from, To: b.to, Message: text("x")})
			return err
		},
		"renew": func() error { _, err := b.tasks.Renew(t.Context(), mustLoad(b, v.ID), v.Task); return err },
	}
	for name, call := range calls {
		b.faults.Reset()
		for _, operation := range []string{"TransactWriteItems", "PutItem"} {
			b.faults.On(operation).Always().Refuse()
		}
		if name != "renew" {
			b.faults.On("Query").Always().Refuse()
		}
		if err := call(); !errors.Is(err, task.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.faults.Reset()
}

// What an operator reads names the operation and what it was about, and has the SDK's own words; what callers get has no
// type of the SDK in it. A request that DynamoDB finds fault with is no matter of the moment.
func TestErrorsNameWhatFailed(t *testing.T) {
	b := newBench(t)
	v := b.send(text("please"))
	var api smithy.APIError
	for _, row := range []struct {
		operation, code string
		kind            error
		call            func() error
		names           string
	}{
		{"Query", "AccessDeniedException", task.ErrUnavailable, func() error {
			_, err := b.tasks.Load(t.Context(), v.ID, false)
			return err
		}, "store: load task " + v.ID.String()},
		{"Query", "AccessDeniedException", task.ErrUnavailable, func() error {
			_, err := b.List(t.Context(), task.Query{Identity: b.to.Identity, Limit: 5})
			return err
		}, "store: list tasks of " + b.to.Identity.String() + " by index received"},
		{"TransactWriteItems", "AccessDeniedException", task.ErrUnavailable, func() error {
			_, err := b.Reply(t.Context(), b.as(b.to, v), task.Progress, task.ID{}, text("x"))
			return err
		}, "store: save task " + v.ID.String()},
		{"TransactWriteItems", "ValidationException", store.ErrRefused, func() error {
			_, err := b.Reply(t.Context(), b.as(b.to, v), task.Progress, task.ID{}, text("x"))
			return err
		}, "store: save task " + v.ID.String()},
	} {
		b.faults.Reset()
		b.faults.On(row.operation).Always().Fail(http.StatusBadRequest, row.code)
		err := row.call()
		if !errors.Is(err, row.kind) || errors.Is(err, task.ErrUnavailable) != (row.kind == task.ErrUnavailable) || errors.As(err, &api) {
			t.Errorf("%s: %v", row.code, err)
			continue
		}
		for _, part := range []string{row.names + ": ", "operation error DynamoDB: " + row.operation, row.code} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("no %q in %v", part, err)
			}
		}
	}
	b.faults.Reset()
}

func mustLoad(b *bench, id task.ID) task.View {
	b.Helper()
	v, err := b.tasks.Load(b.Context(), id, true)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// answerItems edits the items of a query's answer, in the JSON of the protocol.
func answerItems(edit func(items []json.RawMessage) []json.RawMessage) func([]byte) []byte {
	return func(body []byte) []byte {
		var answer map[string]json.RawMessage
		var items []json.RawMessage
		if json.Unmarshal(body, &answer) != nil || json.Unmarshal(answer["Items"], &items) != nil {
			return body
		}
		answer["Items"], _ = json.Marshal(edit(items))
		out, _ := json.Marshal(answer)
		return out
	}
}

func without(sort string) func([]json.RawMessage) []json.RawMessage {
	return func(items []json.RawMessage) []json.RawMessage {
		return slices.DeleteFunc(items, func(item json.RawMessage) bool {
			return strings.Contains(string(item), `{"S":"`+sort+`"}`) || strings.Contains(string(item), `{"S": "`+sort+`"}`)
		})
	}
}

// incompressible is text of n bytes that compression makes hardly smaller.
func incompressible(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(' ' + rand.IntN('~'-' '+1))
	}
	return string(b)
}

// A batch may leave out what was throttled: it is asked for again.
func TestBatchInPortions(t *testing.T) {
	b := newBench(t)
	v := b.send(text("please"))
	for range 2 {
		if _, _, err := b.Send(t.Context(), task.Send{From: b.from, To: b.to, Context: v.Context, Message: text("please")}); err != nil {
			t.Fatal(err)
		}
	}
	b.faults.Reset()
	b.faults.On("BatchGetItem").After(1).Rewrite(func(body []byte) []byte {
		var answer struct {
			Responses       map[string][]map[string]json.RawMessage
			UnprocessedKeys map[string]map[string][]map[string]json.RawMessage
		}
		if err := json.Unmarshal(body, &answer); err != nil || len(answer.Responses[b.table]) != 3 {
			t.Errorf("%s, %v", body, err)
			return body
		}
		left := map[string][]map[string]json.RawMessage{}
		for _, item := range answer.Responses[b.table][1:] {
			left["Keys"] = append(left["Keys"], map[string]json.RawMessage{"p": item["p"], "s": item["s"]})
		}
		answer.Responses[b.table] = answer.Responses[b.table][:1]
		answer.UnprocessedKeys = map[string]map[string][]map[string]json.RawMessage{b.table: left}
		portion, _ := json.Marshal(answer)
		return portion
	})
	_, tasks, err := b.ReadContext(t.Context(), b.as(b.to, v).Viewer, v.Context)
	if n := b.faults.Count("BatchGetItem"); err != nil || len(tasks) != 3 || n != 3 {
		t.Errorf("%d tasks in %d batches, %v", len(tasks), n, err)
	}
}

// A query is not a snapshot of a transaction: what it shows of a write may be a part. Then it is made again.
func TestTornRead(t *testing.T) {
	b := newBench(t)
	large := task.Draft{}
	for range 4 {
		large.Parts = append(large.Parts, task.Part{Text: new(incompressible(240 << 10))})
	}
	v := b.send(text("please"))
	if _, err := b.Reply(t.Context(), b.as(b.to, v), task.Progress, task.ID{}, large); err != nil {
		t.Fatal(err)
	}
	for what, missing := range map[string]string{
		"the head is newer than its change":           "C#000002",
		"the change is there, its second item is not": "C#000002#1",
		"its last item is not":                        "C#000002#2",
	} {
		t.Run(what, func(t *testing.T) {
			b := b.in(t)
			defer b.faults.Reset()
			b.faults.On("Query").Rewrite(answerItems(without(missing)))
			got, err := b.tasks.Load(t.Context(), v.ID, false)
			if err != nil || got.Version != 2 || len(got.History) != 2 || *got.History[1].Parts[3].Text != *large.Parts[3].Text {
				t.Errorf("load: version %d with %d messages, %v", got.Version, len(got.History), err)
			}
			b.faults.Reset()
			if missing == "C#000002" {
				return // as long as it isn't there, a history without it is the history
			}
			b.faults.On("Query").Rewrite(answerItems(without(missing)))
			history, next, err := b.tasks.History(t.Context(), v.ID, 0, 10)
			if err != nil || next != 0 || len(history) != 2 {
				t.Errorf("history: %d messages, %d, %v", len(history), next, err)
			}
		})
	}
	t.Run("the change is there, the head is older", func(t *testing.T) {
		b := b.in(t)
		v := b.send(text("please"))
		var old json.RawMessage
		b.faults.On("Query").Rewrite(answerItems(func(items []json.RawMessage) []json.RawMessage {
			old = items[0]
			return items
		}))
		mustLoad(b, v.ID)
		if _, err := b.Reply(t.Context(), b.as(b.to, v), task.Progress, task.ID{}, text("on it")); err != nil {
			t.Fatal(err)
		}
		b.faults.Reset()
		b.faults.On("Query").Rewrite(answerItems(func(items []json.RawMessage) []json.RawMessage {
			return append([]json.RawMessage{old}, items[1:]...)
		}))
		got, err := b.tasks.Load(t.Context(), v.ID, false)
		if err != nil || got.Version != 2 || got.State != task.Working || len(got.History) != 2 {
			t.Errorf("version %d, %s, with %d messages, %v", got.Version, got.State, len(got.History), err)
		}
		b.faults.Reset()
	})
	t.Run("a gap in the history", func(t *testing.T) {
		b := b.in(t)
		v := b.send(text("1"))
		for i := 2; i <= 4; i++ {
			if _, err := b.AddMessage(t.Context(), b.as(b.from.Party, v), text(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		b.faults.On("Query").Rewrite(answerItems(without("C#000003")))
		defer b.faults.Reset()
		history, _, err := b.tasks.History(t.Context(), v.ID, 0, 10)
		if err != nil || len(history) != 4 || *history[2].Parts[0].Text != "3" {
			t.Errorf("%d messages, %v", len(history), err)
		}
	})
	t.Run("again and again", func(t *testing.T) {
		b := b.in(t)
		b.faults.On("Query").Always().Rewrite(answerItems(without("C#000002")))
		defer b.faults.Reset()
		if _, err := b.tasks.Load(t.Context(), v.ID, false); !errors.Is(err, task.ErrUnavailable) {
			t.Error(err)
		}
	})
	t.Run("the ledger is older than the head", func(t *testing.T) {
		b := b.in(t)
		v := b.send(withID(text("0"), "m0"))
		for i := 1; i < 40; i++ {
			if _, err := b.AddMessage(t.Context(), b.as(b.from.Party, v), withID(text("x"), fmt.Sprintf("m%d", i))); err != nil {
				t.Fatal(err)
			}
		}
		b.faults.On("Query").Rewrite(answerItems(without("M#0")))
		defer b.faults.Reset()
		if got := mustLoad(b, v.ID); len(got.Seen) != 40 || !got.HasSeen(task.ByCaller, "m0") {
			t.Errorf("%d message ids", len(got.Seen))
		}
	})
}

// A write between another's reading and writing is decided upon again, and neither is lost.
func TestOvertaken(t *testing.T) {
	b := newBench(t)
	v := b.send(text("please"))
	var once sync.Once
	overtake := func(w func()) {
		b.faults.Reset()
		once = sync.Once{}
		b.faults.On("TransactWriteItems").Hold(func() { once.Do(w) })
	}
	overtake(func() {
		if _, err := b.AddMessage(t.Context(), b.as(b.from.Party, v), text("more")); err != nil {
			t.Error(err)
		}
	})
	told, err := b.Reply(t.Context(), b.as(b.to, v), task.AskCaller, task.ID{}, text("what?"))
	if err != nil {
		t.Fatal(err)
	}
	b.whole(told, 3, 3, task.InputRequired)

	overtake(func() {
		if _, err := b.Cancel(t.Context(), b.as(b.from.Party, v), "", false); err != nil {
			t.Error(err)
		}
	})
	if _, err := b.Reply(t.Context(), b.as(b.to, v), task.Complete, task.ID{}, text("done")); !errors.Is(err, task.ErrTerminal) {
		t.Errorf("a completion overtaken by a cancellation: %v", err)
	}
	b.faults.Reset()
	b.whole(mustLoad(b, v.ID), 4, 3, task.Canceled)
}

// A lease's renewal makes no version, and is seen by a write all the same.
func TestRenewalIsSeen(t *testing.T) {
	b := newBench(t)
	v := b.send(text("please"))
	was := mustLoad(b, v.ID)
	now := was.Task
	now.Lease = &task.Lease{ID: task.NewID(), ExpiresAt: was.UpdatedAt, Length: 60e9}
	if _, err := b.tasks.Renew(t.Context(), was, now); err != nil {
		t.Fatal(err)
	}
	if got := mustLoad(b, v.ID); got.Version != was.Version || got.Lease == nil || *got.Lease != *now.Lease {
		t.Errorf("version %d, lease %+v", got.Version, got.Lease)
	}
	b.faults.On("PutItem").AnswerAfter(http.StatusInternalServerError, `{"__type":"InternalServerError"}`)
	if _, err := b.tasks.Renew(t.Context(), mustLoad(b, v.ID), now); err != nil {
		t.Errorf("a renewal whose answer was lost: %v", err)
	}
	if _, err := b.tasks.Renew(t.Context(), was, now); !errors.Is(err, task.ErrStale) {
		t.Errorf("a renewal of what was read before another: %v", err)
	}
	b.faults.On("PutItem").Fail(http.StatusBadRequest, "TransactionConflictException")
	if _, err := b.tasks.Renew(t.Context(), mustLoad(b, v.ID), now); !errors.Is(err, task.ErrStale) {
		t.Errorf("a renewal with a write in the way: %v", err)
	}
	next, change := now, task.Change{Task: v.ID, Number: 2, Cause: task.CauseSet, State: task.Working, Caller: v.Caller, Target: v.Target}
	next.Version, next.State = 2, task.Working
	if _, err := b.tasks.Save(t.Context(), was, next, change); !errors.Is(err, task.ErrStale) {
		t.Errorf("a save of what was read before a renewal: %v", err)
	}
	if _, err := b.tasks.Save(t.Context(), mustLoad(b, v.ID), next, change); err != nil {
		t.Error(err)
	}
}

// A delivery that was noted, but whose answer was lost, is noted: were it stale, its worker would leave the next try to
// another that isn't there.
func TestDeliveryOfLostAnswer(t *testing.T) {
	config, faults := localaws.Config(t)
	db := dynamodb.NewFromConfig(config)
	table := localaws.NewTable(t, "EventsTable")
	deliveries := store.NewDeliveries(db, table, store.NewLog(db, table, nil, time.Now), time.Now)
	organization, now := task.NewID(), time.Now().UTC().Truncate(time.Millisecond)
	d := webhook.NewDelivery(task.NewID(), task.NewID(), task.EventCreated, 7, now)
	for version := range 3 {
		d.Version = version
		d = d.After(webhook.Outcome{Result: webhook.Failed, Problem: webhook.ProblemStatus, Status: 500}, now, 0.5)
		faults.On("PutItem").Lose()
		if err := deliveries.SaveDelivery(t.Context(), organization, d); err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		other := d
		other.Tries++
		if err := deliveries.SaveDelivery(t.Context(), organization, other); !errors.Is(err, webhook.ErrStale) {
			t.Errorf("another worker's of version %d: %v, want ErrStale", version, err)
		}
	}
	if got, err := deliveries.Delivery(t.Context(), d.Hook, d.ID); err != nil || got.Version != 3 || got.Tries != 3 {
		t.Errorf("got version %d with %d tries, %v", got.Version, got.Tries, err)
	}
}
