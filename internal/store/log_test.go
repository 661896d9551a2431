package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"baton/internal/localaws"
	"baton/internal/store"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// noChanges holds none.
type noChanges struct{}

func (noChanges) Change(context.Context, task.ID, int) (task.Change, error) {
	return task.Change{}, task.ErrNotFound
}

func newLog(t *testing.T) (*store.Log, *localaws.Faults, *dynamodb.Client, string) {
	t.Helper()
	config, faults := localaws.Config(t)
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	db := dynamodb.NewFromConfig(config)
	table := localaws.NewTable(t, "EventsTable")
	return store.NewLog(db, table, noChanges{}, time.Now), faults, db, table
}

// someEvents are the events of n changes of one task, with the given text.
func someEvents(organization task.ID, n int, text string) (events []task.Event) {
	handle := strings.Repeat("h", 32)
	c := task.Change{
		Task: task.NewID(), Context: task.NewID(), Cause: task.CauseReply, State: task.InputRequired, At: time.Now(),
		Caller: task.Caller{Party: task.Party{Identity: task.NewID(), Organization: organization, Handle: handle}, Verified: true},
		Target: task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: handle},
	}
	for range n {
		c.Number++
		c.Message = &task.Message{ID: task.NewID(), Parts: []task.Part{{Text: &text}}}
		c.Result, c.ResultChange = task.NewClip("the result: "+text), 999_999
		events = append(events, c.Events()...)
	}
	return events
}

func appendAll(t *testing.T, log *store.Log, organization task.ID, events []task.Event) {
	t.Helper()
	for len(events) > 0 {
		head, err := log.Head(t.Context(), organization)
		if err != nil {
			t.Fatal(err)
		}
		n := min(len(events), store.MaxAppend)
		if _, _, err := log.Append(t.Context(), head, events[:n]); err != nil {
			t.Fatal(err)
		}
		events = events[n:]
	}
}

func TestEntryIsReadAsItWasAppended(t *testing.T) {
	log, _, _, _ := newLog(t)
	organization := task.NewID()
	events := someEvents(organization, 3, "a text")
	appendAll(t, log, organization, events)
	got, err := log.Entries(t.Context(), organization, 0, 10)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	for i, e := range got {
		want := events[i]
		want.At = want.At.UTC().Truncate(time.Millisecond)
		if e != want {
			t.Errorf("read %+v\nappended %+v", e, want)
		}
	}
}

// An item of at most 1 KB is one write unit: a transaction of one entry is then 2 for the head, and 2 and 2.
func TestEntrySize(t *testing.T) {
	for name, text := range map[string]string{
		"Latin": strings.Repeat("x", 1000), "Japanese": strings.Repeat("日", 1000), "beyond": strings.Repeat("𝔘", 1000),
	} {
		log, faults, _, _ := newLog(t)
		organization := task.NewID()
		appendAll(t, log, organization, someEvents(organization, 1, text))
		faults.Reset()
		appendAll(t, log, organization, someEvents(organization, 1, text))
		if _, write := faults.Units(); write != 6 {
			t.Errorf("%s: an event costs %v write units, want 6", name, write)
		}
	}
}

func TestReaderNeverPassesAHole(t *testing.T) {
	log, _, db, table := newLog(t)
	organization := task.NewID()
	appendAll(t, log, organization, someEvents(organization, 10, "x"))
	// An append that a reader sees in part.
	key := map[string]types.AttributeValue{
		"p": &types.AttributeValueMemberB{Value: append(append([]byte{'L'}, organization[:]...), 0, 0, 0, 0)},
		"s": &types.AttributeValueMemberN{Value: "7"},
	}
	out, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key, ReturnValues: types.ReturnValueAllOld})
	if err != nil || out.Attributes == nil {
		t.Fatal(err, out)
	}
	read := func(after int64) int {
		entries, err := log.Entries(t.Context(), organization, after, 100)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if n := read(0); n != 6 {
		t.Errorf("%d entries before the hole, want 6", n)
	}
	if n := read(6); n != 0 {
		t.Errorf("%d entries at the hole, want 0", n)
	}
	if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: out.Attributes}); err != nil {
		t.Fatal(err)
	}
	if n := read(6); n != 4 {
		t.Errorf("%d entries when the hole is filled, want 4", n)
	}
}

func TestLogGoesOnInTheNextPartition(t *testing.T) {
	log, _, db, table := newLog(t)
	organization := task.NewID()
	// As if 4,090 entries had been there.
	if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
		"p": &types.AttributeValueMemberB{Value: append([]byte{'H'}, organization[:]...)},
		"s": &types.AttributeValueMemberN{Value: "0"}, "q": &types.AttributeValueMemberN{Value: "4090"},
	}}); err != nil {
		t.Fatal(err)
	}
	appendAll(t, log, organization, someEvents(organization, 20, "x"))
	entries, err := log.Entries(t.Context(), organization, 4090, 100)
	if err != nil || len(entries) != 20 || entries[19].Sequence != 4110 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	if entries, err := log.Entries(t.Context(), organization, 4094, 1); err != nil || len(entries) != 1 || entries[0].Sequence != 4095 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestAppendBehindAnother(t *testing.T) {
	log, _, _, _ := newLog(t)
	organization := task.NewID()
	stale, err := log.Head(t.Context(), organization)
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, log, organization, someEvents(organization, 3, "x"))
	events := someEvents(organization, 2, "y")
	head, found, err := log.Append(t.Context(), stale, events)
	if err != nil || found != 0 || head.Sequence != 5 || events[0].Sequence != 4 || events[1].Sequence != 5 {
		t.Errorf("%+v, found %d, %v", head, found, err)
	}
	for i := range events {
		events[i].Sequence = 0
	}
	more := append(events, someEvents(organization, 1, "z")...)
	head, found, err = log.Append(t.Context(), stale, more)
	if err != nil || found != 2 || head.Sequence != 6 || more[0].Sequence != 4 || more[2].Sequence != 6 {
		t.Errorf("%+v, found %d, %v", head, found, err)
	}
}

func TestTimeOfTheLogDoesNotGoBack(t *testing.T) {
	_, _, db, table := newLog(t)
	now := time.Now()
	log := store.NewLog(db, table, noChanges{}, func() time.Time { return now })
	organization := task.NewID()
	now = now.Add(time.Hour)
	appendAll(t, log, organization, someEvents(organization, 1, "x"))
	now = now.Add(-time.Hour)
	appendAll(t, log, organization, someEvents(organization, 1, "x"))
	entries, err := log.Entries(t.Context(), organization, 0, 2)
	if err != nil || len(entries) != 2 || entries[1].LoggedAt.Before(entries[0].LoggedAt) {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestFirst(t *testing.T) {
	_, faults, db, table := newLog(t)
	now := time.Now().Truncate(time.Second)
	start := now.Add(-40 * 24 * time.Hour)
	log := store.NewLog(db, table, noChanges{}, func() time.Time { return now })
	organization := task.NewID()
	real := now
	for day := range 40 { // two a day, the last one yesterday
		now = start.Add(time.Duration(day) * 24 * time.Hour)
		events := someEvents(organization, 2, "x")
		for i := range events {
			events[i].At = now
		}
		appendAll(t, log, organization, events)
	}
	now = real
	for sequence := 1; sequence <= 15; sequence++ { // as the time to live does, at its leisure
		if _, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberB{Value: append(append([]byte{'L'}, organization[:]...), 0, 0, 0, 0)},
			"s": &types.AttributeValueMemberN{Value: fmt.Sprint(sequence)},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		since time.Time
		want  int64
	}{
		"all that is kept":              {time.Time{}, 21}, // of day 10, exactly 30 days ago
		"from a day on":                 {start.Add(20 * 24 * time.Hour), 41},
		"between two":                   {start.Add(20*24*time.Hour + time.Hour), 43},
		"within the second of an entry": {start.Add(20*24*time.Hour + 500*time.Millisecond), 41},
		"the last":                      {start.Add(39 * 24 * time.Hour), 79},
		"after the last":                {now, 81},
		"long before":                   {start.Add(-time.Hour), 21},
	} {
		faults.Reset()
		got, err := log.First(t.Context(), organization, c.since)
		if err != nil || got != c.want {
			t.Errorf("%s: %d, %v, want %d", name, got, err, c.want)
		}
		if n := faults.Count("GetItem"); n > 9 {
			t.Errorf("%s: %d reads", name, n)
		}
	}
	if got, err := log.First(t.Context(), task.NewID(), time.Time{}); err != nil || got != 1 {
		t.Errorf("of an empty log: %d, %v, want 1", got, err)
	}
}

func TestErasedLogIsGone(t *testing.T) {
	log, faults, db, table := newLog(t)
	gone, kept := task.NewID(), task.NewID()
	for _, id := range []task.ID{gone, kept} {
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberB{Value: append([]byte{'H'}, id[:]...)},
			"s": &types.AttributeValueMemberN{Value: "0"}, "q": &types.AttributeValueMemberN{Value: "4050"},
		}}); err != nil {
			t.Fatal(err)
		}
		appendAll(t, log, id, someEvents(id, 80, "x")) // over two partitions
	}
	faults.On("TransactWriteItems").After(1).Refuse()
	if err := log.Erase(t.Context(), gone); !errors.Is(err, task.ErrUnavailable) {
		t.Fatalf("%v, want ErrUnavailable", err)
	}
	for range 2 {
		if err := log.Erase(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	if head, err := log.Head(t.Context(), gone); err != nil || !head.New {
		t.Errorf("%+v, %v", head, err)
	}
	for id, want := range map[task.ID]int{gone: 0, kept: 80} {
		if entries, err := log.Entries(t.Context(), id, 4050, 100); err != nil || len(entries) != want {
			t.Errorf("%d entries, want %d; %v", len(entries), want, err)
		}
	}
}
