package directory_test

import (
	"errors"
	"fmt"
	"testing"

	"baton/internal/directory"
)

// Every combination of what admission looks at, against the sentence of contract section 5 written out anew.
func TestAdmission(t *testing.T) {
	yes := []bool{false, true}
	type rule struct{ effect, by string }
	rules := [][]rule{nil}
	for _, effect := range []string{"allow", "deny"} {
		for _, by := range []string{"organization", "handle", "verified", "unverified", "someone else"} {
			rules = append(rules, []rule{{effect, by}})
			for _, second := range []string{"allow", "deny"} {
				rules = append(rules, []rule{{effect, by}, {second, "organization"}}, []rule{{second, "organization"}, {effect, by}})
			}
		}
	}

	w := newWorld(t)
	_, home := w.organization("Home")
	away, awayAdmin := w.organization("Away")
	worker, _ := w.agent(home, "worker")
	colleague, colleagueKey := w.agent(home, "colleague")
	foreigner, foreignKey := w.agent(awayAdmin, "foreigner")
	w.agent(awayAdmin, "someone")
	combinations := 0
	for _, verified := range yes {
		if _, err := w.EditOrganization(t.Context(), w.operator, away.ID.String(), directory.OrganizationEdit{Verified: &verified}); err != nil {
			t.Fatal(err)
		}
		for _, connected := range yes {
			connection, _, err := w.Connect(t.Context(), w.fresh(foreignKey), directory.Ref{ID: worker.ID}, "")
			if err != nil {
				t.Fatal(err)
			}
			if connected {
				if _, err := w.MoveConnection(t.Context(), worker, connection.ID.String(), directory.Approved); err != nil {
					t.Fatal(err)
				}
			}
			for _, list := range rules {
				var drafts []directory.RuleDraft
				allowed, denied := false, false
				for _, r := range list {
					d := directory.RuleDraft{Effect: directory.Effect(r.effect)}
					matches := true
					switch r.by {
					case "organization":
						d.Organization = away.ID.String()
					case "handle":
						d.Handle = "@Foreigner"
					case "verified":
						d.Verified, matches = new(true), verified
					case "unverified":
						d.Verified, matches = new(false), !verified
					default:
						d.Handle, matches = "someone", false
					}
					drafts = append(drafts, d)
					allowed = allowed || matches && r.effect == "allow"
					denied = denied || matches && r.effect == "deny"
				}
				if _, err := w.SetAccess(t.Context(), worker, drafts); err != nil {
					t.Fatal(err)
				}
				for _, discoverable := range yes {
					for _, on := range yes {
						if _, err := w.EditIdentity(t.Context(), home, "worker", directory.IdentityEdit{Discoverable: &discoverable, A2AEnabled: &on}); err != nil {
							t.Fatal(err)
						}
						target, err := w.Target(t.Context(), directory.Ref{Handle: "worker"})
						if err != nil {
							t.Fatal(err)
						}
						for requester, want := range map[string]bool{
							"colleague": on,
							"foreigner": on && !denied && (discoverable || connected || allowed),
						} {
							p := colleagueKey
							if requester == "foreigner" {
								p = foreignKey
							}
							err := w.Admit(t.Context(), w.fresh(p), target)
							if (err == nil) != want || err != nil && !errors.Is(err, directory.ErrNotAdmitted) {
								t.Errorf("%s, verified %v, connected %v, discoverable %v, on %v, rules %v: %v, want admitted %v",
									requester, verified, connected, discoverable, on, list, err, want)
							}
							combinations++
						}
					}
				}
			}
			if _, err := w.SetAccess(t.Context(), worker, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := w.EditIdentity(t.Context(), home, "worker", directory.IdentityEdit{A2AEnabled: new(true)}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.MoveConnection(t.Context(), foreigner, connection.ID.String(), directory.Revoked); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = colleague
	t.Logf("%d combinations", combinations)
}

// fresh is an agent as another instance finds it.
func (w *world) fresh(p directory.Principal) directory.Identity {
	w.Helper()
	i, err := w.instance().Own(w.Context(), p)
	if err != nil {
		w.Fatal(err)
	}
	return i
}

func TestAdmissionCosts(t *testing.T) {
	w := newWorld(t)
	_, home := w.organization("Home")
	_, away := w.organization("Away")
	worker, _ := w.agent(home, "worker")
	_, colleague := w.agent(home, "colleague")
	_, foreigner := w.agent(away, "foreigner")
	cost := func(p directory.Principal) int {
		from := w.fresh(p)
		target, err := w.Target(t.Context(), directory.Ref{ID: worker.ID})
		if err != nil {
			t.Fatal(err)
		}
		w.faults.Reset()
		w.Admit(t.Context(), from, target)
		return w.faults.Count("")
	}
	set := func(discoverable bool, effect directory.Effect) {
		if _, err := w.SetAccess(t.Context(), worker, []directory.RuleDraft{{Effect: effect, Verified: new(true)}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.EditIdentity(t.Context(), home, "worker", directory.IdentityEdit{Discoverable: &discoverable}); err != nil {
			t.Fatal(err)
		}
	}
	set(true, directory.Allow)
	if a, b := cost(colleague), cost(foreigner); a != 0 || b != 0 {
		t.Errorf("colleague %d and foreigner %d calls for a discoverable worker, want none", a, b)
	}
	set(false, directory.Allow)
	if a, b := cost(colleague), cost(foreigner); a != 0 || b != 1 {
		t.Errorf("colleague %d and foreigner %d calls for a private worker, want 0 and 1", a, b)
	}
}

func TestRulesAreChecked(t *testing.T) {
	w := newWorld(t)
	o, admin := w.organization("Acme")
	worker, _ := w.agent(admin, "worker")
	many := func(n int) (drafts []directory.RuleDraft) {
		for range n {
			drafts = append(drafts, directory.RuleDraft{Effect: directory.Allow, Organization: o.ID.String()})
		}
		return drafts
	}
	for name, c := range map[string]struct {
		drafts []directory.RuleDraft
		good   bool
	}{
		"none":               {nil, true},
		"a hundred":          {many(100), true},
		"a hundred and one":  {many(101), false},
		"no effect":          {[]directory.RuleDraft{{Verified: new(true)}}, false},
		"nobody":             {[]directory.RuleDraft{{Effect: directory.Deny}}, false},
		"two at once":        {[]directory.RuleDraft{{Effect: directory.Deny, Verified: new(true), Handle: "worker"}}, false},
		"a malformed handle": {[]directory.RuleDraft{{Effect: directory.Deny, Handle: "w"}}, false},
		"an unknown handle":  {[]directory.RuleDraft{{Effect: directory.Deny, Handle: "nobody"}}, false},
		"a malformed id":     {[]directory.RuleDraft{{Effect: directory.Deny, Organization: "acme"}}, false},
	} {
		before, err := w.Access(t.Context(), worker)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.SetAccess(t.Context(), worker, c.drafts)
		after, _ := w.Access(t.Context(), worker)
		if (err == nil) != c.good || !c.good && fmt.Sprint(before) != fmt.Sprint(after) || c.good && len(after) != len(c.drafts) {
			t.Errorf("%s: %v; %d rules then", name, err, len(after))
		}
	}
}
