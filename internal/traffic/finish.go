package traffic

import (
	"context"
	"fmt"
	"time"

	"baton/client"
)

// Finish ends every open task, as programs that come back after all the trouble would: workers claim what is free and complete it,
// what is asked is withdrawn. It returns what can't be ended. Leases must have run out before.
func (d *Driver) Finish(ctx context.Context) (stuck []string) {
	for _, a := range d.World.Agents() {
		for empty := 0; empty < 2; {
			claims, err := a.Client().Claim(ctx, client.ClaimOptions{Max: 10, Lease: 10 * time.Minute})
			if err != nil {
				stuck = append(stuck, fmt.Sprintf("claim for %s: %v", a.Handle, err))
				break
			}
			if len(claims) == 0 {
				empty++
			}
			for _, c := range claims {
				w := write(c.Task.ID, "", "")
				d.Ledger.Claimed(w.Task, c.LeaseID)
				d.reply(ctx, a, c.Task.ID, client.Complete, c.LeaseID)
			}
		}
	}
	agents := map[string]*Agent{}
	for _, a := range d.World.Agents() {
		agents[a.ID] = a
	}
	for pass := range 2 {
		for _, a := range d.World.Agents() {
			for t, err := range a.Client().Tasks(ctx, client.TaskFilter{Direction: client.Outbound}) {
				if err != nil {
					stuck = append(stuck, fmt.Sprintf("list the tasks of %s: %v", a.Handle, err))
					break
				}
				switch {
				case t.State.Terminal():
				case pass == 1:
					stuck = append(stuck, fmt.Sprintf("task %s is still %s", t.ID, t.State))
				case t.State == client.Submitted:
					stuck = append(stuck, fmt.Sprintf("task %s can't be claimed", t.ID))
				case t.State == client.InputRequired || agents[t.TargetIdentityID] == nil:
					d.cancel(ctx, a, t.ID)
				default:
					d.reply(ctx, agents[t.TargetIdentityID], t.ID, client.Complete, "")
				}
			}
		}
	}
	return stuck
}
