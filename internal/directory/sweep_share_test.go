package directory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/task"
)

// endless are tasks of which one organization's agents have more than a round can end.
type endless struct {
	directory.Tasks
	agents map[task.ID]bool
}

func (e endless) List(ctx context.Context, q task.Query) (task.Page, error) {
	if e.agents[q.Identity] {
		<-ctx.Done()
		return task.Page{}, ctx.Err()
	}
	return e.Tasks.List(ctx, q)
}

// Whoever deletes agents with more open tasks than can be ended does not hold up what follows from the deletions, and
// suspensions, of others.
func TestLongJobsLeaveTimeForOthers(t *testing.T) {
	w := newWorld(t)
	_, noisy := w.organization("Noisy")
	_, home := w.organization("Home")
	tasks, _ := w.tasks()
	long := endless{tasks, map[task.ID]bool{}}
	for n := range 6 {
		i, _ := w.agent(noisy, fmt.Sprint("noisy-", n))
		long.agents[i.ID] = true
		if err := w.DeleteIdentity(t.Context(), noisy, i.Handle); err != nil {
			t.Fatal(err)
		}
	}
	w.clock.Forward(time.Second)
	leaving, _ := w.agent(home, "leaving") // behind them: ids are in the order of time
	staying, _ := w.agent(home, "staying")
	text := "do it"
	sent, _, err := tasks.Send(t.Context(), task.Send{From: staying.Caller(), To: leaving.Party(), Message: task.Draft{Parts: []task.Part{{Text: &text}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.DeleteIdentity(t.Context(), home, leaving.Handle); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := directory.NewSweeper(w.store, long, noRoom{}, w.clock.Now).Round(ctx); err != nil && ctx.Err() == nil {
		t.Errorf("a round: %v", err)
	}
	v, err := tasks.Read(t.Context(), task.Viewer{Identity: staying.ID}, sent.ID, true)
	if err != nil || v.State != task.Failed {
		t.Errorf("the other organization's task is %s, %v", v.State, err)
	}
}
