package system

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"baton/client"
)

func TestListsFollow(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	ctx := t.Context()
	var sent []string
	for i := range 7 {
		sent = append(sent, newTask(t, from, to, fmt.Sprint("Task ", i)).ID)
	}
	if _, err := to.Client.Reply(ctx, sent[2], client.Reply{Intent: client.Complete, Draft: client.Draft{Message: "Done."}}); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Client.Cancel(ctx, sent[4]); err != nil {
		t.Fatal(err)
	}
	newest := []string{sent[4], sent[2], sent[6], sent[5], sent[3], sent[1], sent[0]}
	open := []string{sent[6], sent[5], sent[3], sent[1], sent[0]}
	for name, c := range map[string]struct {
		of     *client.Client
		filter client.TaskFilter
		want   []string
	}{
		"all that were sent":        {from.Client, client.TaskFilter{Direction: client.Outbound, PageSize: 2}, newest},
		"all that were received":    {to.Client, client.TaskFilter{Direction: client.Inbound, PageSize: 3}, newest},
		"both directions":           {from.Client, client.TaskFilter{PageSize: 100}, newest},
		"the other direction":       {from.Client, client.TaskFilter{Direction: client.Inbound}, nil},
		"one state":                 {to.Client, client.TaskFilter{State: client.Submitted, PageSize: 2}, open},
		"one that is canceled":      {from.Client, client.TaskFilter{State: client.Canceled}, sent[4:5]},
		"an org key for its agent":  {world(t).Bank.Admin, client.TaskFilter{IdentityID: to.ID, State: client.Completed}, sent[2:3]},
		"an org key acting as one":  {world(t).Shop.Admin.ActAs("@" + from.Handle), client.TaskFilter{State: client.Completed}, sent[2:3]},
		"another's, in one context": {from.Client, client.TaskFilter{WorkerHandle: "@" + to.Handle, PageSize: 4}, newest},
	} {
		var got []string
		for deadline := time.Now().Add(2 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			got = nil
			for item, err := range c.of.Tasks(ctx, c.filter) {
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if item.CallerHandle != from.Handle || item.TargetHandle != to.Handle || item.Messages != nil {
					t.Errorf("%s: item %+v", name, item)
				}
				got = append(got, item.ID)
			}
			if slices.Equal(got, c.want) || time.Now().After(deadline) {
				break
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
