package system

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"baton/client"
)

// A worker that polls: what Serve claims it does once, with the leases renewed and the answers given under them.
func TestServe(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	const tasks = 6
	for range tasks {
		newTask(t, from, to, "Double 21.")
	}
	ctx, stop := context.WithTimeout(t.Context(), 60*time.Second)
	defer stop()
	var done, calls atomic.Int32
	served := make(chan error, 1)
	go func() {
		served <- to.Client.Serve(ctx, 3, func(_ context.Context, task client.Task) (client.Reply, error) {
			calls.Add(1)
			return client.Reply{Intent: client.Complete, Draft: client.Draft{Message: "42, for " + task.Message}}, nil
		})
	}()
	for completed := 0; completed < tasks && ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
		completed = 0
		for task, err := range from.Client.Tasks(ctx, client.TaskFilter{State: client.Completed}) {
			if err != nil {
				t.Fatal(err)
			}
			if task.Result != "42, for Double 21." {
				t.Errorf("result %q", task.Result)
			}
			completed++
		}
		done.Store(int32(completed))
	}
	stop()
	if err := <-served; !errors.Is(err, context.Canceled) {
		t.Errorf("Serve ended with %v", err)
	}
	if done.Load() != tasks || calls.Load() != tasks {
		t.Errorf("%d of %d tasks completed by %d calls", done.Load(), tasks, calls.Load())
	}
}

func TestClaimAndRenew(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	ctx := t.Context()
	sent := newTask(t, from, to, "Mine?")
	claims, err := to.Client.Claim(ctx, client.ClaimOptions{Lease: time.Minute, Wait: 5 * time.Second})
	if err != nil || len(claims) != 1 || claims[0].Task.ID != sent.ID || claims[0].Task.State != client.Working {
		t.Fatalf("%+v, %v", claims, err)
	}
	if more, err := to.Client.Claim(ctx, client.ClaimOptions{Max: 10}); err != nil || len(more) != 0 {
		t.Errorf("claimed twice: %+v, %v", more, err)
	}
	renewed, err := to.Client.Renew(ctx, sent.ID, claims[0].LeaseID)
	if err != nil || len(renewed.Messages) != 1 {
		t.Errorf("renewed: %+v, %v", renewed, err)
	}
	if _, err := to.Client.Renew(ctx, sent.ID, sent.ID); !client.HasCode(err, client.CodeLeaseLost) {
		t.Errorf("a lease that is none: %v", err)
	}
}

func TestEventsOfTheClient(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	ctx, stop := context.WithTimeout(t.Context(), 40*time.Second)
	defer stop()
	sent := newTask(t, from, to, "Tell me.")
	go func() {
		for e, err := range to.Client.Events(ctx, client.EventFilter{AggregateID: sent.ID}) {
			if err != nil {
				return
			}
			if about, err := e.Task(); err == nil && e.Type == client.EventCreated {
				to.Client.Reply(ctx, about.TaskID, client.Reply{Intent: client.Progress, Draft: client.Draft{Message: "On it."}})
				to.Client.Reply(ctx, about.TaskID, client.Reply{Intent: client.Complete, Draft: client.Draft{Message: "Told: " + about.Message}})
			}
		}
	}()
	var states []client.State
	for e, err := range from.Client.Events(ctx, client.EventFilter{Type: client.EventSentUpdated}) {
		if err != nil {
			t.Fatal(err)
		}
		about, err := e.Task()
		if err != nil || about.TaskID != sent.ID || e.IdentityID != from.ID {
			t.Errorf("%+v, %v", e, err)
		}
		if states = append(states, about.State); about.State.Terminal() {
			if about.Result != "Told: Tell me." {
				t.Errorf("result %q", about.Result)
			}
			break
		}
	}
	if !slices.Equal(states, []client.State{client.Working, client.Completed}) {
		t.Errorf("states told: %v", states)
	}
}

func TestFindingByTheClient(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	ctx := t.Context()
	sent := newTask(t, from, to, "A shipment for Rotterdam.")
	other := newTask(t, from, to, "Another one.")
	deadline := time.Now().Add(5 * time.Second)
	var found []string
	for len(found) == 0 && time.Now().Before(deadline) {
		for task, err := range from.Client.Tasks(ctx, client.TaskFilter{Query: "rotterdam"}) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, task.ID)
		}
	}
	if !slices.Equal(found, []string{sent.ID}) {
		t.Errorf("tasks found: %v", found)
	}
	found = nil
	for m, err := range to.Client.FindMessages(ctx, client.MessageFilter{Query: `"for rotterdam"`}) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, m.TaskID+" "+m.Text())
	}
	if !slices.Equal(found, []string{sent.ID + " A shipment for Rotterdam."}) {
		t.Errorf("messages found: %v", found)
	}
	found = nil
	for c, err := range from.Client.Conversations(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, c.ID)
	}
	if !slices.Equal(found, []string{other.ContextID, sent.ContextID}) {
		t.Errorf("conversations: %v", found)
	}
	one, err := to.Client.Conversation(ctx, sent.ContextID)
	if err != nil || one.TaskCount != 1 || len(one.Tasks) != 1 || one.Tasks[0].ID != sent.ID {
		t.Errorf("%+v, %v", one, err)
	}
}

func TestAccessByTheClient(t *testing.T) {
	t.Parallel()
	w := world(t)
	from, to := agent(t, w.Shop, false), agent(t, w.Bank, false)
	ctx := t.Context()
	send := func() error {
		_, err := from.Client.Send(ctx, client.Send{To: to.Handle, Draft: client.Draft{Message: "May I?"}})
		return err
	}
	if err := send(); !client.HasCode(err, client.CodeNotAdmitted) {
		t.Errorf("to a private worker: %v", err)
	}
	asked, err := from.Client.Connect(ctx, "@"+to.Handle, "Please.")
	if err != nil || asked.State != "pending" {
		t.Fatalf("%+v, %v", asked, err)
	}
	for c, err := range to.Client.Connections(ctx, client.Inbound, "pending") {
		if err != nil || c.ID != asked.ID || c.Note != "Please." {
			t.Errorf("%+v, %v", c, err)
		}
		if _, err := to.Client.ApproveConnection(ctx, c.ID); err != nil {
			t.Error(err)
		}
	}
	if err := send(); err != nil {
		t.Errorf("connected: %v", err)
	}
	rules, err := to.Client.SetAccess(ctx, to.Handle, []client.Rule{{Effect: "deny", Handle: from.Handle}})
	if err != nil || len(rules) != 1 {
		t.Fatalf("%+v, %v", rules, err)
	}
	if rules, err := to.Client.Access(ctx, to.Handle); err != nil || len(rules) != 1 || rules[0].Handle != from.Handle {
		t.Errorf("%+v, %v", rules, err)
	}
	if rules, err := to.Client.SetAccess(ctx, to.Handle, nil); err != nil || len(rules) != 0 {
		t.Errorf("%+v, %v", rules, err)
	}
	if _, err := from.Client.RevokeConnection(ctx, asked.ID); err != nil {
		t.Error(err)
	}
	seen := false
	for f, err := range from.Client.Discover(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		seen = seen || f.Handle == w.Worker.Handle
	}
	if !seen {
		t.Error("the discoverable worker is not discovered")
	}
}
