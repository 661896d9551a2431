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

func TestOneOfManyTakesAHandle(t *testing.T) {
	w := newWorld(t)
	_, one := w.organization("One")
	_, two := w.organization("Two")
	const n = 16
	errs := make([]error, n)
	var race sync.WaitGroup
	for k := range n {
		admin := one
		if k%2 == 1 {
			admin = two
		}
		race.Go(func() {
			handle := "@Wanted"
			_, errs[k] = w.CreateIdentity(t.Context(), admin, directory.IdentityEdit{Handle: &handle})
		})
	}
	race.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, directory.ErrHandleTaken) {
			t.Errorf("loser got %v", err)
		}
	}
	a, _, _ := w.Identities(t.Context(), one, task.ID{}, 100)
	b, _, _ := w.Identities(t.Context(), two, task.ID{}, 100)
	if won != 1 || len(a)+len(b) != 1 {
		t.Errorf("%d won, %d identities", won, len(a)+len(b))
	}
}

func TestOldHandleStaysItsIdentitys(t *testing.T) {
	w := newWorld(t)
	_, admin := w.organization("Acme")
	i, _ := w.agent(admin, "first")
	rename := func(to string) error {
		_, err := w.EditIdentity(t.Context(), admin, i.ID.String(), directory.IdentityEdit{Handle: &to})
		return err
	}
	if err := rename("second"); err != nil {
		t.Fatal(err)
	}
	first := "first"
	_, other := w.organization("Other")
	if _, err := w.CreateIdentity(t.Context(), other, directory.IdentityEdit{Handle: &first}); !errors.Is(err, directory.ErrHandleTaken) {
		t.Errorf("the old handle for another: %v", err)
	}
	for _, name := range []string{"@first", "Second", i.ID.String()} {
		if got, err := w.Identity(t.Context(), admin, name); err != nil || got.ID != i.ID || got.Handle != "second" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if err := rename("First"); err != nil {
		t.Errorf("taking the old handle back: %v", err)
	}
	if got, err := w.Identity(t.Context(), admin, "second"); err != nil || got.Handle != "first" {
		t.Errorf("the handle in between: %+v, %v", got, err)
	}
}

func TestWhoIsMeant(t *testing.T) {
	w := newWorld(t)
	_, admin := w.organization("Acme")
	own, agent := w.agent(admin, "own")
	w.agent(admin, "colleague")
	_, other := w.organization("Other")
	foreign, _ := w.agent(other, "foreign")
	for _, c := range []struct {
		name string
		by   directory.Principal
		ref  string
		want error
	}{
		{"agent names itself", agent, "@OWN", nil},
		{"agent names itself by id", agent, own.ID.String(), nil},
		{"agent names a colleague", agent, "colleague", directory.ErrForbidden},
		{"agent names a foreigner", agent, "foreign", directory.ErrNotFound},
		{"agent names a foreigner by id", agent, foreign.ID.String(), directory.ErrNotFound},
		{"agent names nobody", agent, "nobody", directory.ErrNotFound},
		{"agent names nonsense", agent, "9", directory.ErrNotFound},
		{"org key names its agent", admin, "colleague", nil},
		{"org key names a foreigner", admin, "foreign", directory.ErrNotFound},
		{"operator names an agent", w.operator, "own", directory.ErrNotFound},
	} {
		for range 2 { // the second time as remembered
			if _, err := w.Agent(t.Context(), c.by, c.ref); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
		}
		if _, err := w.Identity(t.Context(), c.by, c.ref); !errors.Is(err, c.want) {
			t.Errorf("%s, to read it: %v, want %v", c.name, err, c.want)
		}
	}
	w.faults.Reset()
	if _, err := w.Own(t.Context(), agent); err != nil || w.faults.Count("") != 0 {
		t.Errorf("own identity with the key known: %v, %d calls", err, w.faults.Count(""))
	}
	if _, err := w.Target(t.Context(), directory.Ref{Handle: "foreign"}); err != nil || w.faults.Count("") != 1 {
		t.Errorf("target: %v, %d calls, want 1", err, w.faults.Count(""))
	}
}

func TestIdentitiesArePaged(t *testing.T) {
	w := newWorld(t)
	_, admin := w.organization("Acme")
	for n := range 7 {
		handle := fmt.Sprintf("agent-%d", n)
		if _, err := w.CreateIdentity(t.Context(), admin, directory.IdentityEdit{Handle: &handle}); err != nil {
			t.Fatal(err)
		}
		w.clock.Forward(time.Millisecond)
	}
	var after task.ID
	var got []string
	for more := true; more; {
		page, last, err := w.Identities(t.Context(), admin, after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page {
			got = append(got, i.Handle)
		}
		after, more = last, !last.IsZero()
	}
	if fmt.Sprint(got) != "[agent-0 agent-1 agent-2 agent-3 agent-4 agent-5 agent-6]" {
		t.Errorf("listed %v", got)
	}
}

func TestEditsAtOnceAreAllMade(t *testing.T) {
	w := newWorld(t)
	_, admin := w.organization("Acme")
	w.agent(admin, "busy")
	edits := []directory.IdentityEdit{
		{DisplayName: new("Busy")}, {Description: new("works")}, {Discoverable: new(true)}, {A2AEnabled: new(false)},
	}
	var race sync.WaitGroup
	for _, e := range edits {
		race.Go(func() {
			if _, err := w.EditIdentity(t.Context(), admin, "busy", e); err != nil {
				t.Error(err)
			}
		})
	}
	race.Wait()
	for _, ref := range []string{"busy"} {
		i, err := w.Identity(t.Context(), admin, ref)
		if err != nil || i.DisplayName != "Busy" || i.Description != "works" || !i.Discoverable || i.A2AEnabled {
			t.Errorf("after all: %+v, %v", i, err)
		}
		byID, err := w.Identity(t.Context(), admin, i.ID.String())
		if err != nil || fmt.Sprint(byID) != fmt.Sprint(i) {
			t.Errorf("by id %+v, by handle %+v", byID, i)
		}
	}
}
