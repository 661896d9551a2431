package traffic

import (
	"context"
	"fmt"
	"sync"
	"time"

	"baton/client"
	"baton/internal/task"
)

// Finish ends every open task, as programs that come back after all the trouble would: workers claim what is free and complete it,
// what is asked is withdrawn. It returns what can't be ended. Leases must have run out before.
func (d *Driver) Finish(ctx context.Context) (stuck []string) {
	agents := map[string]*Agent{}
	for _, a := range d.World.Agents() {
		agents[a.ID] = a
	}
	stuck = d.each(func(a *Agent) []string { return d.claimAll(ctx, a) })
	stuck = append(stuck, d.each(func(a *Agent) []string { return d.endAll(ctx, a, agents) })...)
	return append(stuck, d.each(func(a *Agent) []string { return d.open(ctx, a) })...)
}

// each does something for all agents, some at once.
func (d *Driver) each(do func(*Agent) []string) (stuck []string) {
	var all sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, 6)
	for _, a := range d.World.Agents() {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			found := do(a)
			mu.Lock()
			defer mu.Unlock()
			stuck = append(stuck, found...)
		})
	}
	all.Wait()
	return stuck
}

// claimAll claims and completes until there is nothing to claim.
func (d *Driver) claimAll(ctx context.Context, a *Agent) (stuck []string) {
	for empty := 0; empty < 2; {
		claims, err := a.Client().Claim(ctx, client.ClaimOptions{Max: 10, Lease: 10 * time.Minute})
		if err != nil {
			return append(stuck, fmt.Sprintf("claim for %s: %v", a.Handle, err))
		}
		if len(claims) == 0 {
			empty++
		}
		for _, c := range claims {
			id, _ := task.ParseID(c.Task.ID)
			d.Ledger.Claimed(id, c.LeaseID)
			d.reply(ctx, a, c.Task.ID, client.Complete, c.LeaseID)
		}
	}
	return stuck
}

// endAll ends what is open of an agent's requests.
func (d *Driver) endAll(ctx context.Context, a *Agent, agents map[string]*Agent) (stuck []string) {
	for t, err := range a.Client().Tasks(ctx, client.TaskFilter{Direction: client.Outbound}) {
		switch {
		case err != nil:
			return append(stuck, fmt.Sprintf("list the tasks of %s: %v", a.Handle, err))
		case t.State.Terminal():
		case t.State == client.Submitted:
			stuck = append(stuck, fmt.Sprintf("task %s can't be claimed", t.ID))
		case t.State == client.InputRequired || agents[t.TargetIdentityID] == nil:
			d.cancel(ctx, a, t.ID)
		default:
			d.reply(ctx, agents[t.TargetIdentityID], t.ID, client.Complete, "")
		}
	}
	return stuck
}

// open are an agent's requests that are still open.
func (d *Driver) open(ctx context.Context, a *Agent) (stuck []string) {
	for _, state := range []client.State{client.Submitted, client.Working, client.InputRequired} {
		for t, err := range a.Client().Tasks(ctx, client.TaskFilter{Direction: client.Outbound, State: state}) {
			if err != nil {
				return append(stuck, fmt.Sprintf("list the tasks of %s: %v", a.Handle, err))
			}
			stuck = append(stuck, fmt.Sprintf("task %s is still %s", t.ID, t.State))
		}
	}
	return stuck
}
