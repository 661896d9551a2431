package system

import (
	"slices"
	"strings"
	"testing"

	"baton/client"
	"baton/internal/demo"
	"baton/internal/localaws"
)

// The main job: stream, log, bus, rule, worker Lambda, question, answer, result.
func TestATaskGoesToAWorkerLambdaAndBack(t *testing.T) {
	t.Parallel()
	w := world(t)
	if err := demo.DeployWorker(t.Context(), tree(t), localaws.Stack(t), w.Bank, w.Worker); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	done, err := demo.Talk(t.Context(), w, &said)
	if err != nil || done.State != client.Completed {
		t.Fatalf("%v, %v\n%s", done.State, err, said.String())
	}
	var roles []string
	for _, m := range done.Messages {
		roles = append(roles, m.Role)
	}
	// the request, progress, the question, its answer, completion
	if want := []string{"caller", "agent", "agent", "caller", "agent"}; !slices.Equal(roles, want) {
		t.Errorf("who spoke: %v, want %v\n%s", roles, want, said.String())
	}
	if len(done.Artifacts) != 1 || len(done.Artifacts[0].Parts) != 2 || done.Result != done.Artifacts[0].Text() || done.CompletedAt.IsZero() {
		t.Errorf("artifacts %+v, result %q, completed at %v", done.Artifacts, done.Result, done.CompletedAt)
	}
	if done.Caller.TrustTier != "verified" || done.Caller.Handle != w.Sender.Handle || done.Target.Handle != w.Worker.Handle {
		t.Errorf("parties %+v, %+v", done.Caller, done.Target)
	}
	toWorker, toSender := []string{"a2a.task.created", "a2a.task.message"}, slices.Repeat([]string{"a2a.sent_task.updated"}, 4)
	if got := events(t, w.Bank.ID, done.ID, len(toWorker)); !slices.Equal(got, toWorker) {
		t.Errorf("events for the worker: %v", got)
	}
	if got := events(t, w.Shop.ID, done.ID, len(toSender)); !slices.Equal(got, toSender) {
		t.Errorf("events for the requester: %v", got)
	}
}
