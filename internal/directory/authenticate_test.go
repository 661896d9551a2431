package directory_test

import (
	"errors"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/task"
)

func TestKeyLife(t *testing.T) {
	w := newWorld(t)
	_, admin := w.organization("Acme")
	_, agent := w.agent(admin, "support")
	if agent.Kind != directory.Agent || agent.Organization != admin.Organization {
		t.Fatalf("agent's key is %+v", agent)
	}
	refused := func(what, secret string) {
		t.Helper()
		if _, err := w.Authenticate(t.Context(), secret); !errors.Is(err, directory.ErrUnauthenticated) {
			t.Errorf("%s: %v, want ErrUnauthenticated", what, err)
		}
	}

	secret := w.key(admin, directory.NewKeyRequest{Role: directory.Viewer})
	viewer := w.in(secret)
	if err := w.RevokeKey(t.Context(), admin, viewer.KeyID.String()); err != nil {
		t.Fatal(err)
	}
	if err := w.RevokeKey(t.Context(), admin, viewer.KeyID.String()); err != nil {
		t.Errorf("revoking again: %v", err)
	}
	if _, err := w.Authenticate(t.Context(), secret); err != nil {
		t.Errorf("an instance that remembers the key: %v", err)
	}
	if _, err := w.instance().Authenticate(t.Context(), secret); !errors.Is(err, directory.ErrUnauthenticated) {
		t.Errorf("revoked key at another instance: %v", err)
	}
	w.clock.Forward(30 * time.Second)
	refused("revoked 30 s ago", secret)

	soon := w.clock.Now().Add(10 * time.Second)
	secret = w.key(admin, directory.NewKeyRequest{Role: directory.Member, ExpiresAt: soon})
	w.in(secret)
	w.clock.Forward(10 * time.Second)
	refused("expired, though remembered as good", secret)

	_, other := w.organization("Other")
	if err := w.RevokeKey(t.Context(), other, admin.KeyID.String()); !errors.Is(err, directory.ErrNotFound) {
		t.Errorf("another organization revokes a key: %v", err)
	}
	keys, last, err := w.Keys(t.Context(), admin, task.ID{}, 10)
	if err != nil || !last.IsZero() || len(keys) != 4 {
		t.Fatalf("%d keys, more after %s, %v; want 4", len(keys), last, err)
	}
	for n, want := range []directory.Kind{directory.Org, directory.Agent, directory.Org, directory.Org} {
		if k := keys[n]; k.Kind != want || k.LastUsedAt.IsZero() || k.RevokedAt.IsZero() == (n == 2) {
			t.Errorf("key %d is %+v", n, k)
		}
	}
}

func TestSuspensionStopsKeys(t *testing.T) {
	w := newWorld(t)
	o, admin := w.organization("Acme")
	secret := w.key(admin, directory.NewKeyRequest{Role: directory.Member})
	if _, err := w.SuspendOrganization(t.Context(), admin, o.ID.String(), true); !errors.Is(err, directory.ErrForbidden) {
		t.Errorf("an admin suspends: %v", err)
	}
	for _, suspended := range []bool{true, false} {
		if _, err := w.SuspendOrganization(t.Context(), w.operator, o.ID.String(), suspended); err != nil {
			t.Fatal(err)
		}
		w.clock.Forward(30 * time.Second)
		if _, err := w.Authenticate(t.Context(), secret); errors.Is(err, directory.ErrUnauthenticated) != suspended {
			t.Errorf("suspended %v: %v", suspended, err)
		}
	}
}

func TestMadeUpKeysCostNoReads(t *testing.T) {
	w := newWorld(t)
	_, admin := w.organization("Acme")
	secret := w.key(admin, directory.NewKeyRequest{Role: directory.Viewer})
	stranger := directory.NewMint("another deployment")
	w.faults.Reset()
	for range 1000 {
		if _, err := w.Authenticate(t.Context(), stranger.New(directory.Org)); !errors.Is(err, directory.ErrUnauthenticated) {
			t.Fatal(err)
		}
	}
	if n := w.faults.Count(""); n != 0 {
		t.Errorf("a thousand made-up keys cost %d calls", n)
	}

	// One of ours that is no more, as after a purge, is looked up once.
	gone := w.mint.New(directory.Org)
	for range 10 {
		w.Authenticate(t.Context(), gone)
	}
	if n := w.faults.Count(""); n != 1 {
		t.Errorf("a key that is gone cost %d calls in 30 s, want 1", n)
	}

	w.faults.Reset()
	for range 100 {
		w.in(secret)
	}
	if reads, writes := w.faults.Units(); w.faults.Count("") != 3 || reads != 2 || writes != 1 {
		t.Errorf("a hundred uses cost %d calls, %v and %v units; want 3, 2 and 1", w.faults.Count(""), reads, writes)
	}
	w.faults.Reset()
	w.clock.Forward(59 * time.Minute)
	w.in(secret)
	if n := w.faults.Count("UpdateItem"); n != 0 {
		t.Errorf("the use within the hour was noted %d times", n)
	}
	w.clock.Forward(time.Minute)
	w.in(secret)
	if n := w.faults.Count("UpdateItem"); n != 1 {
		t.Errorf("the use an hour later was noted %d times", n)
	}
}

func TestStorageDownIsNoVerdict(t *testing.T) {
	w := newWorld(t)
	_, admin := w.organization("Acme")
	secret := w.key(admin, directory.NewKeyRequest{Role: directory.Viewer})
	w.faults.On("GetItem").Always().Throttle()
	if _, err := w.Authenticate(t.Context(), secret); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("while storage throttles: %v, want ErrUnavailable", err)
	}
	w.faults.Reset()
	w.in(secret)
}
