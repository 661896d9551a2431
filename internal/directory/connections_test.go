package directory_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/task"
)

func TestConnectionMoves(t *testing.T) {
	w := newWorld(t)
	_, home := w.organization("Home")
	_, away := w.organization("Away")
	worker, _ := w.agent(home, "worker")
	other, _ := w.agent(home, "other")
	requester, _ := w.agent(away, "requester")
	const (
		p, a, d, r = directory.Pending, directory.Approved, directory.Declined, directory.Revoked
	)
	no, forbidden := directory.ErrTransition, directory.ErrForbidden
	for _, c := range []struct {
		from, to              directory.ConnectionState
		byTarget, byRequester error
	}{
		{p, a, nil, forbidden}, {p, d, nil, forbidden}, {p, r, nil, nil},
		{a, a, nil, forbidden}, {a, d, no, forbidden}, {a, r, nil, nil},
		{d, a, no, forbidden}, {d, d, nil, forbidden}, {d, r, no, no},
		{r, a, no, forbidden}, {r, d, no, forbidden}, {r, r, nil, nil},
	} {
		for by, want := range map[*directory.Identity]error{&worker: c.byTarget, &requester: c.byRequester, &other: directory.ErrNotFound} {
			connection, created, err := w.Connect(t.Context(), requester, directory.Ref{ID: worker.ID}, "hello")
			if err != nil || !created {
				t.Fatalf("%s to %s: connect: created %v, %v", c.from, c.to, created, err)
			}
			if c.from != p {
				if _, err := w.MoveConnection(t.Context(), worker, connection.ID.String(), c.from); err != nil {
					t.Fatal(err)
				}
			}
			now, err := w.MoveConnection(t.Context(), *by, connection.ID.String(), c.to)
			if !errors.Is(err, want) || err == nil && now.State != c.to {
				t.Errorf("%s to %s by %s: %s, %v; want %v", c.from, c.to, by.Handle, now.State, err, want)
			}
			w.MoveConnection(t.Context(), worker, connection.ID.String(), directory.Revoked)
		}
	}
}

func TestPairHasOneConnection(t *testing.T) {
	w := newWorld(t)
	_, home := w.organization("Home")
	_, away := w.organization("Away")
	one, _ := w.agent(home, "one")
	two, _ := w.agent(away, "two")
	for round := range 3 {
		ids, made := sync.Map{}, make([]bool, 12)
		var race sync.WaitGroup
		for k := range made {
			from, to := one, two
			if k%2 == 1 {
				from, to = two, one
			}
			race.Go(func() {
				c, created, err := w.Connect(t.Context(), from, directory.Ref{Handle: to.Handle}, "")
				if err != nil {
					t.Error(err)
				}
				ids.Store(c.ID, true)
				made[k] = created
			})
		}
		race.Wait()
		connections, created := 0, 0
		var id task.ID
		ids.Range(func(k, _ any) bool { connections++; id = k.(task.ID); return true })
		for _, m := range made {
			if m {
				created++
			}
		}
		if connections != 1 || created != 1 {
			t.Fatalf("round %d: %d connections, %d made", round, connections, created)
		}
		for k := range made { // approve and revoke at once: it ends revoked, whoever was first
			race.Go(func() {
				c, err := w.store.Connection(t.Context(), id)
				if err != nil {
					t.Error(err)
					return
				}
				by, to := one, directory.Revoked
				if c.Target.Identity == two.ID {
					by = two
				}
				if k%2 == 1 {
					to = directory.Approved
				}
				if _, err := w.MoveConnection(t.Context(), by, id.String(), to); err != nil && !errors.Is(err, directory.ErrTransition) {
					t.Error(err)
				}
			})
		}
		race.Wait()
		if c, err := w.store.Connection(t.Context(), id); err != nil || c.State != directory.Revoked {
			t.Fatalf("round %d: ends %s, %v", round, c.State, err)
		}
		if connected, _, err := w.store.Relation(t.Context(), one.ID, two.ID); err != nil || connected {
			t.Fatalf("round %d: still connected, %v", round, err)
		}
	}
}

func TestConnectionsAreListed(t *testing.T) {
	w := newWorld(t)
	_, home := w.organization("Home")
	hub, _ := w.agent(home, "hub")
	for n := range 5 {
		peer, _ := w.agent(home, fmt.Sprintf("peer-%d", n))
		from, to := peer, hub
		if n%2 == 1 {
			from, to = hub, peer
		}
		c, _, err := w.Connect(t.Context(), from, directory.Ref{ID: to.ID}, "")
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if _, err := w.MoveConnection(t.Context(), hub, c.ID.String(), directory.Approved); err != nil {
				t.Fatal(err)
			}
		}
		w.clock.Forward(time.Millisecond)
	}
	for _, c := range []struct {
		direction task.Direction
		state     directory.ConnectionState
		want      string
	}{
		{task.Both, "", "43210"}, {task.Inbound, "", "420"}, {task.Outbound, "", "31"},
		{task.Both, directory.Pending, "4321"}, {task.Inbound, directory.Approved, "0"}, {task.Outbound, directory.Declined, ""},
	} {
		got, after := "", task.ID{}
		for more := true; more; {
			page, last, err := w.Connections(t.Context(), directory.ConnectionQuery{
				Identity: hub.ID, Direction: c.direction, State: c.state, After: after, Limit: 2,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range page {
				peer := p.Requester.Handle
				if peer == "hub" {
					peer = p.Target.Handle
				}
				got += peer[len(peer)-1:]
			}
			after, more = last, !last.IsZero()
		}
		if got != c.want {
			t.Errorf("%s %s: %s, want %s", c.direction, c.state, got, c.want)
		}
	}
}

func TestDenyStopsConnectionRequests(t *testing.T) {
	w := newWorld(t)
	_, home := w.organization("Home")
	away, awayAdmin := w.organization("Away")
	worker, _ := w.agent(home, "worker")
	_, foreigner := w.agent(awayAdmin, "foreigner")
	if _, err := w.SetAccess(t.Context(), worker, []directory.RuleDraft{{Effect: directory.Deny, Organization: away.ID.String()}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Connect(t.Context(), w.fresh(foreigner), directory.Ref{ID: worker.ID}, ""); !errors.Is(err, directory.ErrNotAdmitted) {
		t.Errorf("a denied requester asks: %v", err)
	}
	if _, _, err := w.Connect(t.Context(), w.fresh(foreigner), directory.Ref{Handle: "nobody"}, ""); !errors.Is(err, directory.ErrNotFound) {
		t.Errorf("for nobody: %v", err)
	}
}

// A requester may take its request back and ask again: as often as it may send, and without hiding the others' requests.
func TestARequesterDoesNotFillAnothersList(t *testing.T) {
	w := newWorld(t)
	_, home := w.organization("Home")
	_, away := w.organization("Away")
	worker, _ := w.agent(home, "worker")
	honest, _ := w.agent(away, "honest")
	flooder, _ := w.agent(away, "flooder")
	if _, _, err := w.Connect(t.Context(), honest, directory.Ref{ID: worker.ID}, "hello"); err != nil {
		t.Fatal(err)
	}
	noon := time.Now().Truncate(time.Hour)
	gate := directory.Gate{Service: w.Service, Limiter: directory.NewLimiter(
		w.store, nil, directory.Limits{SendsPerMinute: 24}, func() time.Time { return noon })}
	asked := 0
	for ; asked < 100; asked++ {
		c, _, err := gate.Connect(t.Context(), flooder, directory.Ref{ID: worker.ID}, "spam")
		var limited *directory.Limited
		if errors.As(err, &limited) && !limited.Quota {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.MoveConnection(t.Context(), flooder, c.ID.String(), directory.Revoked); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 24 {
		t.Errorf("%d requests in a minute, of 24", asked)
	}
	page, _, err := w.Connections(t.Context(), directory.ConnectionQuery{Identity: worker.ID, Direction: task.Inbound, State: directory.Pending, Limit: 5})
	if err != nil || len(page) != 1 || page[0].Requester.Identity != honest.ID {
		t.Errorf("pending behind what was taken back: %v, %v", page, err)
	}
}
