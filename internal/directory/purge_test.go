package directory_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/localaws"
	"baton/internal/store"
	"baton/internal/task"
	"baton/internal/webhook"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestPurgeLeavesNothing(t *testing.T) {
	w := newWorld(t)
	doomed, admin := w.organization("Doomed Ltd")
	_, other := w.organization("Other")
	leaving, _ := w.agent(admin, "leaving")
	colleague, _ := w.agent(admin, "colleague")
	staying, _ := w.agent(other, "staying")
	if _, err := w.EditIdentity(t.Context(), admin, "leaving", directory.IdentityEdit{Handle: new("gone-soon"), Discoverable: new(true)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.SetAccess(t.Context(), leaving, []directory.RuleDraft{{Effect: directory.Deny, Verified: new(false)}}); err != nil {
		t.Fatal(err)
	}
	for _, to := range []directory.Identity{leaving, colleague} {
		if _, _, err := w.Connect(t.Context(), staying, directory.Ref{ID: to.ID}, ""); err != nil && to.ID != leaving.ID {
			t.Fatal(err)
		}
	}

	config, _ := localaws.Config(t)
	db := store.NewClient(dynamodb.Options{
		Region: config.Region, BaseEndpoint: config.BaseEndpoint, Credentials: config.Credentials, HTTPClient: config.HTTPClient,
	})
	table := localaws.NewTable(t, "TasksTable")
	stored := store.NewTasks(db, table)
	tasks := task.NewService(stored, w.clock.Now)
	events := localaws.NewTable(t, "EventsTable")
	logs := store.NewLog(db, events, stored, w.clock.Now)
	text := "the plan"
	draft := task.Draft{Parts: []task.Part{{Text: &text}}}
	send := func(from, to directory.Identity) task.ID {
		t.Helper()
		v, _, err := tasks.Send(t.Context(), task.Send{From: from.Caller(), To: to.Party(), Message: draft})
		if err != nil {
			t.Fatal(err)
		}
		return v.ID
	}
	var theirs []task.ID
	for range 120 {
		theirs = append(theirs, send(leaving, colleague))
	}
	theirs = append(theirs, send(staying, leaving), send(leaving, staying))
	long := send(staying, colleague)
	theirs = append(theirs, long)
	for range 120 {
		if _, err := tasks.AddMessage(t.Context(), task.Edit{Task: long, Viewer: task.Viewer{Identity: staying.ID}}, draft); err != nil {
			t.Fatal(err)
		}
	}
	_, another := w.agent(other, "another")
	kept := send(staying, w.fresh(another))

	deliveries := store.NewDeliveries(db, events, logs, w.clock.Now)
	for n, of := range []task.ID{doomed.ID, doomed.ID, other.Organization} {
		h := webhook.Hook{ID: task.NewID(), Organization: of, Keys: webhook.Keys{Current: webhook.NewSecret()}, Version: 1}
		if err := w.store.CreateHook(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		for sequence := range int64(60) {
			told := webhook.NewDelivery(h.ID, task.NewID(), task.EventCreated, sequence+1, w.clock.Now())
			if err := deliveries.SaveDelivery(t.Context(), of, told); err != nil {
				t.Fatal(err)
			}
		}
		if n == 0 { // what was sent to it stays, for a while
			if err := w.store.DeleteHook(t.Context(), of, h.ID, w.clock.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}

	buses := 0
	sweeper := directory.NewSweeper(w.store, tasks, noRoom{}, w.clock.Now).Erasing(directory.Erasers{
		Task: stored.Erase, Log: logs.Erase, Deliveries: deliveries.EraseOf(w.store),
		Bus: func(_ context.Context, o directory.Organization) error {
			if o.ID == doomed.ID {
				buses++
			}
			return nil
		},
	})
	member := w.in(w.key(admin, directory.NewKeyRequest{Role: directory.Member}))
	if _, err := w.PurgeOrganization(t.Context(), member, doomed.ID.String()); !errors.Is(err, directory.ErrForbidden) {
		t.Errorf("a member purges: %v", err)
	}
	if _, err := w.PurgeOrganization(t.Context(), other, doomed.ID.String()); !errors.Is(err, directory.ErrNotFound) {
		t.Errorf("another organization purges: %v", err)
	}
	if o, err := w.PurgeOrganization(t.Context(), admin, doomed.ID.String()); err != nil || !o.Suspended {
		t.Fatalf("%+v, %v", o, err)
	}
	if _, err := w.SuspendOrganization(t.Context(), w.operator, doomed.ID.String(), false); !errors.Is(err, directory.ErrTransition) {
		t.Errorf("resumed while it is purged: %v", err)
	}
	rounds := 0
	for ; rounds < 20; rounds++ {
		if _, err := w.store.Organization(t.Context(), doomed.ID); errors.Is(err, directory.ErrNotFound) {
			break
		}
		if err := sweeper.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.clock.Forward(time.Minute)
	}
	t.Logf("%d rounds", rounds)
	if rounds < 5 || rounds == 20 || buses != 1 {
		t.Errorf("%d rounds, %d buses deleted", rounds, buses)
	}
	for _, id := range theirs {
		if _, err := stored.Load(t.Context(), id, false); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("task %s: %v", id, err)
		}
	}
	if _, err := stored.Load(t.Context(), kept, false); err != nil {
		t.Errorf("a task of others: %v", err)
	}
	for _, name := range []string{table, w.table, events} {
		pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &name})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range page.Items {
				for attribute, value := range it {
					if s := textOf(value); strings.Contains(s, "Doomed") || strings.Contains(s, doomed.ID.String()) && attribute != "s" {
						t.Errorf("left: %s %s", attribute, s)
					}
				}
			}
		}
	}
	if hooks, err := w.store.Hooks(t.Context(), other.Organization); err != nil || len(hooks) != 1 {
		t.Errorf("the other side's webhooks: %v, %v", hooks, err)
	} else if kept, _, err := deliveries.Deliveries(t.Context(), hooks[0].ID, 0, 100); err != nil || len(kept) != 60 {
		t.Errorf("the other side's deliveries: %d, %v", len(kept), err)
	}
	if _, _, err := w.Connections(t.Context(), directory.ConnectionQuery{Identity: staying.ID, Limit: 10}); err != nil {
		t.Errorf("the other side's connections: %v", err)
	}
	for _, handle := range []string{"leaving", "gone-soon", "colleague"} {
		if _, err := w.CreateIdentity(t.Context(), other, directory.IdentityEdit{Handle: &handle}); !errors.Is(err, directory.ErrHandleTaken) {
			t.Errorf("the handle %s: %v", handle, err)
		}
		if _, err := w.Target(t.Context(), directory.Ref{Handle: handle}); !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("a send to %s: %v", handle, err)
		}
	}
}

// textOf is what a text attribute holds.
func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
