package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"baton/internal/localaws"
	"baton/internal/store"
	"baton/internal/store/storetest"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func (b *bench) found(q task.Query) (ids []task.ID) {
	b.Helper()
	q.Limit = 100
	for {
		page, err := b.List(b.T.Context(), q)
		if err != nil {
			b.Fatal(err)
		}
		for _, t := range page.Items {
			ids = append(ids, t.ID)
		}
		if q.After = page.Next; q.After == nil {
			return ids
		}
	}
}

// The examples of contract section 3, "q".
func TestSearch(t *testing.T) {
	b := newBench(t)
	data := b.send(task.Draft{Parts: []task.Part{{Data: []byte(`{"orderId":4182,"lines":[4183,1.50]}`)}}})
	two := b.send(text("please refund"))
	if _, err := b.Reply(t.Context(), b.as(b.to, two), task.AskCaller, task.ID{}, text("which order")); err != nil {
		t.Fatal(err)
	}
	file := b.send(task.Draft{Parts: []task.Part{{Text: new("see this")}, {File: &task.File{URI: "https://example.com/x", Name: "Straße_42.pdf"}}}})
	for _, row := range []struct {
		sentence, q string
		want        []task.View
	}{
		{"a number in data is a word", "4182", []task.View{data}},
		{"a longer number is another word", "41820", nil},
		{"a number is found as written", "1.50", []task.View{data}},
		{"and not as it is worth", "1.5", nil},
		{"a key is a word", "ORDERID", []task.View{data}},
		{"there is no stemming", "refunded", nil},
		{"words may stand in different messages", "order refund", []task.View{two}},
		{"every word must occur", "order refund nowhere", nil},
		{"a phrase stands in one part", `"refund which"`, nil},
		{"a phrase is words in a row", `"please refund"`, []task.View{two}},
		{"in that order", `"refund please"`, nil},
		{"an open quote runs to the end", `"which order`, []task.View{two}},
		{"a file is found by its name, however it is folded", "STRASSE_42.PDF", []task.View{file}},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			b := b.in(t)
			var want []task.ID
			for _, v := range row.want {
				want = append(want, v.ID)
			}
			if got := b.found(task.Query{Identity: b.to.Identity, Text: row.q}); !slices.Equal(got, want) {
				t.Errorf("%s found %v, want %v", row.q, got, want)
			}
		})
	}
	for _, q := range []string{"...", `""`, "  "} {
		var bad task.Invalid
		if _, err := b.List(t.Context(), task.Query{Identity: b.to.Identity, Text: q, Limit: 1}); !errors.As(err, &bad) || bad[0].Field != "q" {
			t.Errorf("%q: %v", q, err)
		}
		if _, err := b.SearchMessages(t.Context(), task.MessageQuery{Identity: b.to.Identity, Text: q, Limit: 1}); !errors.As(err, &bad) || bad[0].Field != "q" {
			t.Errorf("%q in messages: %v", q, err)
		}
	}
	for _, after := range [][]byte{{}, {1}, make([]byte, 23), make([]byte, 31), make([]byte, 30+17*19)} {
		var bad task.Invalid
		if _, err := b.List(t.Context(), task.Query{Identity: b.to.Identity, After: after, Limit: 1}); !errors.As(err, &bad) {
			t.Errorf("list after %x: %v", after, err)
		}
		if _, err := b.SearchMessages(t.Context(), task.MessageQuery{Identity: b.to.Identity, After: after, Limit: 1}); !errors.As(err, &bad) {
			t.Errorf("messages after %x: %v", after, err)
		}
	}
}

// Another's task is in no list and under no filter.
func TestNobodySeesOthersTasks(t *testing.T) {
	b := newBench(t)
	v := b.send(text("secret"))
	stranger := task.NewID()
	for _, q := range []task.Query{{}, {Text: "secret"}, {Context: v.Context}, {State: task.Submitted}} {
		q.Identity, q.Direction = stranger, task.Both
		if got := b.found(q); len(got) > 0 {
			t.Errorf("%+v found %v", q, got)
		}
	}
	for _, q := range []task.MessageQuery{{}, {Text: "secret"}, {Context: v.Context}, {Task: v.ID}} {
		q.Identity, q.Direction, q.Limit = stranger, task.Both, 10
		if page, err := b.SearchMessages(t.Context(), q); err != nil || len(page.Items) > 0 {
			t.Errorf("%+v found %v, %v", q, page.Items, err)
		}
	}
	for viewer, sees := range map[task.Viewer]bool{
		{Identity: stranger}:                       false,
		{Organization: task.NewID()}:               false,
		{Identity: b.to.Identity}:                  true,
		{Identity: b.from.Identity}:                true,
		{Organization: b.from.Organization}:        true,
		{Identity: b.to.Identity, Side: task.Sent}: false,
	} {
		_, tasks, err := b.ReadContext(t.Context(), viewer, v.Context)
		if sees && (err != nil || len(tasks) != 1) || !sees && !errors.Is(err, task.ErrNotFound) {
			t.Errorf("%+v: %d tasks, %v", viewer, len(tasks), err)
		}
	}
}

// atMost makes an answer as if no more items had fitted into it: an answer has at most 1 MB.
func atMost(n int) func([]byte) []byte {
	return func(body []byte) []byte {
		var answer map[string]json.RawMessage
		var items []json.RawMessage
		if json.Unmarshal(body, &answer) != nil || json.Unmarshal(answer["Items"], &items) != nil || len(items) <= n {
			return body
		}
		answer["Items"], _ = json.Marshal(items[:n])
		answer["LastEvaluatedKey"] = json.RawMessage(`{"s":{"S":"T"}}`)
		body, _ = json.Marshal(answer)
		return body
	}
}

// A long walk reads stretches of the index side by side, however unevenly the tasks lie in time, and loses nothing of
// what one in fifty has.
func TestLongWalk(t *testing.T) {
	config, faults := localaws.Config(t)
	client := store.NewClient(dynamodb.Options{
		Region: config.Region, BaseEndpoint: config.BaseEndpoint, Credentials: config.Credentials, HTTPClient: config.HTTPClient,
	})
	table := localaws.NewTable(t, "TasksTable")
	tasks := store.NewTasks(client, table)
	from := task.Caller{Party: task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: "asker"}}
	to := task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: "doer"}
	seeder := storetest.NewSeeder(client, table, time.Now().AddDate(-1, 0, 0))
	r := rand.New(rand.NewPCG(5, 6))
	const n = 600
	var want []task.ID
	for i := range n {
		switch r.IntN(100) {
		case 0:
			seeder.Now = seeder.Now.Add(time.Duration(r.IntN(1000)) * time.Minute) // a gap
		case 1, 2, 3, 4, 5, 6, 7, 8, 9:
			seeder.Now = seeder.Now.Add(time.Duration(r.IntN(3)) * time.Millisecond) // else a burst
		}
		what := "usual"
		if i%50 == 7 {
			what = "rare"
		}
		v, _, err := seeder.Send(t.Context(), task.Send{From: from, To: to, Message: text(fmt.Sprintf("%s words of task %d", what, i))})
		if err != nil {
			t.Fatal(err)
		}
		if what == "rare" {
			want = append(want, v.ID)
		}
	}
	if err := seeder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		limit, heads int
		units        float64
	}{{3, 1000, 40}, {100, 1000, 40}, {100, 40, 1000}} {
		limit := row.limit
		tasks.AllowUnits(row.units)
		faults.Reset()
		faults.On("Query").Always().Rewrite(atMost(row.heads))
		got := map[task.ID]bool{}
		pages, most := 0, 0.0
		ctx, all := store.WithUsage(t.Context())
		for q := (task.Query{Identity: to.Identity, Direction: task.Inbound, State: task.Submitted, Text: "rare", Limit: limit}); ; pages++ {
			before, _, _ := all.Total()
			page, err := tasks.List(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			after, _, _ := all.Total()
			most = max(most, after-before)
			for _, item := range page.Items {
				if got[item.ID] {
					t.Errorf("%s is shown twice", item.ID)
				}
				got[item.ID] = true
			}
			if q.After = page.Next; q.After == nil {
				break
			}
		}
		for _, id := range want {
			if !got[id] {
				t.Errorf("with pages of %d, %s is lost", limit, id)
			}
		}
		units, _, calls := all.Total()
		t.Logf("pages of %d: %d pages, %.0f read units, %d calls, %.0f units the dearest page", limit, pages+1, units, calls, most)
		if len(got) != len(want) || limit == 100 && row.heads == 1000 && units > 0.15*n+float64(len(want)) {
			t.Errorf("%d found, want %d, for %.0f read units", len(got), len(want), units)
		}
	}
}

// sentence is n words out of so many of a kind.
func sentence(r *rand.Rand, kind string, n, of int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "%s%d ", kind, r.IntN(of))
	}
	return b.String()
}

// quarter is some words of a quarter of the tasks.
func quarter(n int) string {
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, "quarter%dword%d ", n, i)
	}
	return b.String()
}

// A long task's words are in its archive, so that its messages are hardly ever read for words that it doesn't have; and
// it is found by every word that it has, old or new.
func TestLongTasksAreToldApart(t *testing.T) {
	_, client := newClients(t)
	table := localaws.NewTable(t, "TasksTable")
	tasks := store.NewTasks(client, table)
	from := task.Caller{Party: task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: "asker"}}
	to := task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: "doer"}
	seeder := storetest.NewSeeder(client, table, time.Now().AddDate(-1, 0, 0))
	r := rand.New(rand.NewPCG(7, 8))
	const n, messages = 20, 100
	var all []task.View
	for i := range n {
		seeder.Now = seeder.Now.Add(time.Second)
		v, _, err := seeder.Send(t.Context(), task.Send{From: from, To: to, Message: text(fmt.Sprintf("first%d %s", i, quarter(4*i/n)))})
		if err != nil {
			t.Fatal(err)
		}
		edit := task.Edit{Task: v.ID, Viewer: task.Viewer{Identity: to.Identity}, Minimal: true}
		for m := 1; m < messages+r.IntN(10); m++ {
			words := fmt.Sprintf("%s at%dof%d", sentence(r, "w", 25, 1000), m, i)
			if v, err = seeder.Reply(t.Context(), edit, task.Progress, task.ID{}, withID(text(words), fmt.Sprint("m", m))); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, v)
	}
	if err := seeder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask := func(q string, limit int) (found []task.ID, units float64) {
		ctx, usage := store.WithUsage(t.Context())
		for q := (task.Query{Identity: to.Identity, State: task.Working, Text: q, Limit: limit}); ; {
			page, err := tasks.List(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Items) > limit {
				t.Errorf("a page of %d, want %d at most", len(page.Items), limit)
			}
			for _, item := range page.Items {
				found = append(found, item.ID)
			}
			if q.After = page.Next; q.After == nil {
				break
			}
		}
		units, _, _ = usage.Total()
		return found, units
	}
	for i, v := range all {
		for _, q := range []string{
			fmt.Sprintf("first%d", i), fmt.Sprintf("at%dof%d", v.Version-1, i), fmt.Sprintf("at%dof%d at2of%d", v.Version-2, i, i),
			fmt.Sprintf("at%dof%d", 1+r.IntN(v.Version-1), i),
		} {
			if got, _ := ask(q, 100); !slices.Equal(got, []task.ID{v.ID}) {
				t.Errorf("%s found %v, want %s", q, got, v.ID)
			}
			page, err := tasks.SearchMessages(t.Context(), task.MessageQuery{Identity: to.Identity, Text: strings.Fields(q)[0], Limit: 5})
			if err != nil || len(page.Items) != 1 || page.Items[0].Of.ID != v.ID {
				t.Errorf("%s found %d messages, %v", q, len(page.Items), err)
			}
		}
	}
	// Many are looked into at once when the newest don't have it, and a page still ends where it is full.
	var older []task.ID
	for _, v := range all[:n/4] {
		older = append(older, v.ID)
	}
	slices.Reverse(older)
	for i, q := range strings.Fields(quarter(0)) {
		for _, limit := range []int{1 + i%3, 100} {
			if got, _ := ask(q, limit); !slices.Equal(got, older) {
				t.Errorf("by pages of %d, %s found %d tasks, want %d", limit, q, len(got), len(older))
			}
		}
	}
	const queries = 20
	sum := 0.0
	for i := range queries {
		got, units := ask(fmt.Sprint("nowhere", i), 100)
		if len(got) > 0 {
			t.Errorf("nowhere found %v", got)
		}
		sum += units
	}
	// 1/8 of a unit for the head, 1/2 for the archive; reading the messages would be 10.
	t.Logf("%.2f read units a task of %d messages", sum/queries/n, messages)
	if sum/queries/n > 0.8 {
		t.Errorf("%.2f read units a task", sum/queries/n)
	}
}

// An archive that is behind its head, or gone, denies nothing, and the next one has all words again.
func TestArchiveBehindOrGone(t *testing.T) {
	b := newBench(t)
	r := rand.New(rand.NewPCG(9, 10))
	v := b.send(text("first"))
	key := map[string]types.AttributeValue{
		"p": &types.AttributeValueMemberB{Value: append([]byte{'T'}, v.ID[:]...)}, "s": &types.AttributeValueMemberS{Value: "W"},
	}
	write := func(what string) {
		t.Helper()
		_, err := b.Reply(t.Context(), b.as(b.to, v), task.Progress, task.ID{}, text(what+" "+sentence(r, "w", 25, 1000)))
		if err != nil {
			t.Fatal(err)
		}
	}
	stored := func() map[string]types.AttributeValue {
		t.Helper()
		out, err := b.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &b.table, Key: key, ConsistentRead: new(true)})
		if err != nil {
			t.Fatal(err)
		}
		return out.Item
	}
	check := func(when string) {
		t.Helper()
		for _, q := range []string{"first", "early", "late", "first late", "latest"} {
			if got := b.found(task.Query{Identity: b.to.Identity, Text: q}); len(got) != 1 {
				t.Errorf("%s: %s is not found", when, q)
			}
			page, err := b.SearchMessages(t.Context(), task.MessageQuery{Identity: b.to.Identity, Text: q, Limit: 5})
			if want := len(strings.Fields(q)) == 1; err != nil || (len(page.Items) == 1) != want {
				t.Errorf("%s: %s in messages: %d, %v", when, q, len(page.Items), err)
			}
		}
	}
	for i := range 12 {
		write(map[int]string{3: "early"}[i])
	}
	old := stored()
	if old == nil {
		t.Fatal("there is no archive after 13 messages")
	}
	for i := range 13 {
		write(map[int]string{6: "late", 12: "latest"}[i])
	}
	if reflect.DeepEqual(old, stored()) {
		t.Fatal("the archive is the same after 26 messages")
	}
	check("as it is")
	if _, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.table, Item: old}); err != nil {
		t.Fatal(err)
	}
	check("with an old archive")
	if _, err := b.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.table, Key: key}); err != nil {
		t.Fatal(err)
	}
	check("without an archive")
	for range 12 {
		write("")
	}
	if stored() == nil {
		t.Fatal("there is no new archive")
	}
	check("with a new archive")
}
