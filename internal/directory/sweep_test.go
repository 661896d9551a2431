package directory_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/localaws"
	"baton/internal/store"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// tasks is a world's tasks on a table of their own, and every change that was made to them.
func (w *world) tasks() (*task.Service, func() []task.Change) {
	w.Helper()
	config, _ := localaws.Config(w.T)
	db := store.NewClient(dynamodb.Options{
		Region: config.Region, BaseEndpoint: config.BaseEndpoint, Credentials: config.Credentials, HTTPClient: config.HTTPClient,
	})
	table := localaws.NewTable(w.T, "TasksTable")
	tasks := store.NewTasks(db, table)
	return task.NewService(tasks, w.clock.Now), func() (changes []task.Change) {
		w.Helper()
		pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(w.Context())
			if err != nil {
				w.Fatal(err)
			}
			for _, it := range page.Items {
				if id, number, err := tasks.ParseChangeKey(it); err == nil {
					c, err := tasks.Change(w.Context(), id, number)
					if err != nil {
						w.Fatal(err)
					}
					changes = append(changes, c)
				}
			}
		}
		return changes
	}
}

// following says whether a job follows from a change; the others wait for room for a bus.
func following(j directory.Job) bool { return j.Kind != directory.MakeBus }

func TestDeletionEndsEveryTaskOnce(t *testing.T) {
	w := newWorld(t)
	_, home := w.organization("Home")
	leaving, leavingKey := w.agent(home, "leaving")
	staying, _ := w.agent(home, "staying")
	tasks, changes := w.tasks()
	text := "do it"
	draft := task.Draft{Parts: []task.Part{{Text: &text}}}
	send := func(from, to directory.Identity) (task.View, error) {
		v, _, err := tasks.Send(t.Context(), task.Send{From: from.Caller(), To: to.Party(), Message: draft})
		return v, err
	}

	const each = 500
	var all sync.WaitGroup
	turns := make(chan struct{}, 16)
	for n := range each {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			received, err := send(staying, leaving)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := send(leaving, staying); err != nil {
				t.Error(err)
			}
			if intent := []task.Intent{"", task.Progress, task.AskCaller}[n%3]; intent != "" {
				_, err := tasks.Reply(t.Context(), task.Edit{Task: received.ID, Viewer: task.Viewer{Identity: leaving.ID}}, intent, task.ID{}, draft)
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()

	// Sends go on: some know the target from before its deletion, and are late.
	var sent atomic.Int64
	stop := make(chan struct{})
	var senders sync.WaitGroup
	halt := sync.OnceFunc(func() { close(stop); senders.Wait() })
	defer halt()
	for range 4 {
		senders.Go(func() {
			for {
				target, err := w.Target(t.Context(), directory.Ref{ID: leaving.ID})
				if err != nil {
					if !errors.Is(err, directory.ErrNotFound) {
						t.Error(err)
					}
					target = leaving // as one that looked before
				}
				select {
				case <-stop:
					return
				default:
				}
				if _, err := send(staying, target); err != nil {
					t.Error(err)
				}
				sent.Add(1)
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	if err := w.DeleteIdentity(t.Context(), home, "leaving"); err != nil {
		t.Fatal(err)
	}
	sweeper := directory.NewSweeper(w.store, tasks, noRoom{}, w.clock.Now)
	if err := sweeper.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	halt()
	rounds := 1
	for ; ; rounds++ {
		jobs, err := w.store.Jobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(jobs, following) {
			break
		}
		w.clock.Forward(time.Minute)
		var both sync.WaitGroup // two at once do no harm
		for range 2 {
			both.Go(func() {
				if err := sweeper.Round(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if rounds > 10 {
			t.Fatal("the job does not end")
		}
	}

	ends := map[task.ID]int{}
	seen := map[task.ID]bool{}
	for _, c := range changes() {
		seen[c.Task] = true
		if !c.State.Terminal() {
			continue
		}
		ends[c.Task]++
		if c.Target.Identity == leaving.ID {
			if reason, _ := c.Message.Text(); c.State != task.Failed || reason != "The agent was deleted." {
				t.Errorf("a received task ended %s, %q", c.State, reason)
			}
		} else if c.State != task.Canceled {
			t.Errorf("a sent task ended %s", c.State)
		}
		if len(c.Notices()) == 0 {
			t.Error("an end that nobody is told of")
		}
	}
	if want := 2*each + int(sent.Load()); len(seen) != want || len(ends) != want {
		t.Errorf("%d tasks, %d ended; want %d", len(seen), len(ends), want)
	}
	for id, n := range ends {
		if n != 1 {
			t.Errorf("%s ended %d times", id, n)
		}
	}
	t.Logf("%d tasks, %d of them sent meanwhile, %d rounds", len(seen), sent.Load(), rounds)

	// And it is gone for everyone.
	w.clock.Forward(time.Minute)
	if _, err := w.Own(t.Context(), leavingKey); !errors.Is(err, directory.ErrNotFound) {
		t.Errorf("its own key: %v", err)
	}
	handle := "leaving"
	if _, err := w.CreateIdentity(t.Context(), home, directory.IdentityEdit{Handle: &handle}); !errors.Is(err, directory.ErrHandleTaken) {
		t.Errorf("its handle for another: %v", err)
	}
	page, _, err := w.Identities(t.Context(), home, task.ID{}, 10)
	if err != nil || len(page) != 1 {
		t.Errorf("%d identities are listed, %v", len(page), err)
	}
}

// Nobody can answer a request of a deleted agent, or one to it, and each takes a place of those who asked.
func TestDeletionEndsOpenRequests(t *testing.T) {
	w := newWorld(t)
	home, admin := w.organization("Home")
	leaving, _ := w.agent(admin, "leaving-asker")
	staying, _ := w.agent(admin, "staying-asker")
	_, others := w.organization("Others")
	asked, _ := w.agent(others, "asked-by-both")
	friend, _ := w.agent(others, "friend-already")
	ask := func(from, of directory.Identity) directory.Connection {
		c, _, err := w.Connect(t.Context(), from, directory.Ref{ID: of.ID}, "")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	asks, isAsked, agreed, other := ask(leaving, asked), ask(friend, leaving), ask(staying, leaving), ask(staying, asked)
	if _, err := w.MoveConnection(t.Context(), leaving, agreed.ID.String(), directory.Approved); err != nil {
		t.Fatal(err)
	}
	w.owns("Q#"+home.ID.String(), "pending", directory.MaxPending)

	if err := w.DeleteIdentity(t.Context(), admin, "leaving-asker"); err != nil {
		t.Fatal(err)
	}
	tasks, _ := w.tasks()
	if err := directory.NewSweeper(w.store, tasks, noRoom{}, w.clock.Now).Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	for c, want := range map[directory.Connection]directory.ConnectionState{
		asks: directory.Revoked, isAsked: directory.Revoked, agreed: directory.Approved, other: directory.Pending,
	} {
		if now, err := w.store.Connection(t.Context(), c.ID); err != nil || now.State != want {
			t.Errorf("%s to %s is %s, want %s: %v", c.Requester.Handle, c.Target.Handle, now.State, want, err)
		}
	}
	ask(staying, friend) // in the place of the deleted one's
}

// Rounds that find nothing don't end the job while somebody may still send on what it read before the deletion.
func TestASweepOutwaitsThoseWhoLookedBefore(t *testing.T) {
	w := newWorld(t)
	_, home := w.organization("Home")
	leaving, _ := w.agent(home, "leaving")
	staying, _ := w.agent(home, "staying")
	tasks, _ := w.tasks()
	if err := w.DeleteIdentity(t.Context(), home, "leaving"); err != nil {
		t.Fatal(err)
	}
	sweeper := directory.NewSweeper(w.store, tasks, noRoom{}, w.clock.Now)
	rounds := func(n int) {
		t.Helper()
		for range n {
			if err := sweeper.Round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	rounds(4)
	w.clock.Forward(55 * time.Second)
	text := "do it"
	late, _, err := tasks.Send(t.Context(), task.Send{
		From: staying.Caller(), To: leaving.Party(), Message: task.Draft{Parts: []task.Part{{Text: &text}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Forward(10 * time.Second)
	rounds(4)
	v, err := tasks.Read(t.Context(), task.Viewer{Identity: staying.ID}, late.ID, true)
	if err != nil || v.State != task.Failed {
		t.Errorf("a send of one that looked before the deletion is left %s, %v", v.State, err)
	}
	jobs, err := w.store.Jobs(t.Context())
	if err != nil || slices.ContainsFunc(jobs, following) {
		t.Errorf("the job does not end: %v, %v", jobs, err)
	}
}

func TestSuspensionReachesTheAgents(t *testing.T) {
	w := newWorld(t)
	o, home := w.organization("Home")
	_, away := w.organization("Away")
	_, requester := w.agent(away, "requester")
	handle := "public"
	if _, err := w.CreateIdentity(t.Context(), home, directory.IdentityEdit{Handle: &handle, Discoverable: new(true)}); err != nil {
		t.Fatal(err)
	}
	sweeper := directory.NewSweeper(w.store, nil, noRoom{}, w.clock.Now)
	for _, suspended := range []bool{true, false, true} {
		if _, err := w.SuspendOrganization(t.Context(), w.operator, o.ID.String(), suspended); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if err := sweeper.Round(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.clock.Forward(time.Minute)
		}
		if jobs, err := w.store.Jobs(t.Context()); err != nil || slices.ContainsFunc(jobs, following) {
			t.Fatalf("suspended %v: %v left, %v", suspended, jobs, err)
		}
		target, err := w.Target(t.Context(), directory.Ref{Handle: "public"})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Admit(t.Context(), w.fresh(requester), target); errors.Is(err, directory.ErrNotAdmitted) != suspended {
			t.Errorf("suspended %v: %v", suspended, err)
		}
		found, err := w.Discover(t.Context(), directory.DiscoverQuery{Limit: 10})
		if err != nil || (len(found.Items) == 0) != suspended {
			t.Errorf("suspended %v: %d found, %v", suspended, len(found.Items), err)
		}
	}
}
