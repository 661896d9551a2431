package directory_test

import (
	"errors"
	"fmt"
	"testing"

	"baton/internal/directory"
	"baton/internal/task"
)

func TestDiscover(t *testing.T) {
	w := newWorld(t)
	_, acme := w.organization("Acme")
	_, other := w.organization("Other")
	want := map[string]bool{}
	for n := range 40 {
		admin := acme
		if n%3 == 0 {
			admin = other
		}
		handle := fmt.Sprintf("agent-%d", n)
		e := directory.IdentityEdit{Handle: &handle, Discoverable: new(n%4 != 3)}
		if n%10 == 0 {
			e.Skills = &[]directory.Skill{{ID: "refund", Name: "Refunds", Tags: []string{"Zahlung"}}}
		}
		if _, err := w.CreateIdentity(t.Context(), admin, e); err != nil {
			t.Fatal(err)
		}
		if n%4 != 3 {
			want[handle] = true
		}
	}
	find := func(q string, limit int, spread byte) map[string]bool {
		t.Helper()
		var words []string
		if q != "" {
			var err error
			if words, err = directory.Words(q); err != nil {
				t.Fatal(err)
			}
		}
		got := map[string]bool{}
		var after []byte
		for {
			page, err := w.Discover(t.Context(), directory.DiscoverQuery{Words: words, Spread: spread, After: after, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Items) > limit {
				t.Fatalf("%d items on a page of %d", len(page.Items), limit)
			}
			for _, i := range page.Items {
				if got[i.Handle] || i.Organization.Name == "" {
					t.Errorf("%s: found twice, or without its organization", i.Handle)
				}
				got[i.Handle] = true
			}
			if after = page.Next; after == nil {
				return got
			}
		}
	}
	for _, limit := range []int{1, 3, 100} {
		for _, spread := range []byte{0, 7, 255} {
			if got := find("", limit, spread); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("limit %d, spread %d: found %v", limit, spread, got)
			}
		}
	}
	for q, want := range map[string]string{
		"refunds":          "map[agent-0:true agent-10:true agent-20:true agent-30:true]",
		"ZAHLUNG  agent-1": "map[agent-10:true]", "agent-33": "map[agent-33:true]", "nothing": "map[]",
	} {
		if got := fmt.Sprint(find(q, 3, 1)); got != want {
			t.Errorf("%q: %s, want %s", q, got, want)
		}
	}

	if _, err := w.EditIdentity(t.Context(), acme, "agent-1", directory.IdentityEdit{Discoverable: new(false)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.EditIdentity(t.Context(), acme, "agent-2", directory.IdentityEdit{A2AEnabled: new(false)}); err != nil {
		t.Fatal(err)
	}
	if got := find("", 100, 0); got["agent-1"] || got["agent-2"] || len(got) != len(want)-2 {
		t.Errorf("private ones are found: %v", got)
	}
	var invalid task.Invalid
	if _, err := w.Discover(t.Context(), directory.DiscoverQuery{After: []byte{99}, Limit: 1}); !errors.As(err, &invalid) {
		t.Errorf("a made-up position: %v", err)
	}
}
