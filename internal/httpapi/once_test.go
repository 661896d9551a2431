package httpapi_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Whoever makes something and hears no answer makes it again with the same Idempotency-Key, and has one.
func TestMakingAgainMakesOne(t *testing.T) {
	w := newWorld(t)
	count := func(path string) int {
		t.Helper()
		var page struct{ Items []json.RawMessage }
		if err := json.Unmarshal([]byte(w.admin("GET", path+"?limit=100", "").body), &page); err != nil {
			t.Fatal(err)
		}
		return len(page.Items)
	}
	for name, c := range map[string]struct{ as, path, body, again, list string }{
		"an organization":               {"operator", "/v1/organizations", `{"name":"Twice"}`, `{"name":"Twice, said otherwise"}`, ""},
		"an identity":                   {"admin", "/v1/identities", `{"handle":"twice"}`, `{"handle":"twice","description":"said otherwise"}`, "/v1/identities"},
		"an agent's key":                {"admin", "/v1/keys", `{"identity":"asker"}`, `{"identity":"asker"}`, "/v1/keys"},
		"a role's key":                  {"admin", "/v1/keys", `{"role":"viewer"}`, `{"role":"member"}`, "/v1/keys"},
		"an agent's key, then a role's": {"admin", "/v1/keys", `{"identity":"asker"}`, `{"role":"member"}`, "/v1/keys"},
		"a role's key, then an agent's": {"admin", "/v1/keys", `{"role":"viewer"}`, `{"identity":"asker"}`, "/v1/keys"},
		"a webhook": {"admin", "/v1/webhooks", `{"url":"https://8.8.8.8/in","events":["a2a.task.created"]}`,
			`{"url":"https://8.8.8.8/other","events":["a2a.task.created"]}`, "/v1/webhooks"},
	} {
		t.Run(name, func(t *testing.T) {
			before := 0
			if c.list != "" {
				before = count(c.list)
			}
			once := map[string]string{"Idempotency-Key": "making " + name}
			var mu sync.Mutex
			var together sync.WaitGroup
			answers := map[string]int{}
			make := func(body string) {
				r := w.do(request{method: "POST", path: c.path, as: c.as, body: body, header: once})
				mu.Lock()
				defer mu.Unlock()
				answers[fmt.Sprint(r.status, " ", r.body)]++
			}
			for range 8 {
				together.Go(func() { make(c.body) })
			}
			together.Wait()
			make(c.again)
			if len(answers) != 1 {
				t.Errorf("different answers: %v", answers)
			}
			if c.list != "" {
				if n := count(c.list) - before; n != 1 {
					t.Errorf("%d were made", n)
				}
			}
			var first map[string]any
			for text := range answers {
				if err := json.Unmarshal([]byte(text[4:]), &first); err != nil || text[:3] != "201" {
					t.Fatalf("%v: %s", err, text)
				}
			}
			other := w.object(w.do(request{method: "POST", path: c.path, as: c.as, header: map[string]string{"Idempotency-Key": "another " + name},
				body: map[bool]string{true: `{"handle":"twice-more"}`, false: c.body}[name == "an identity"]}))
			if idOf(other) == idOf(first) {
				t.Error("another Idempotency-Key gives the same")
			}
		})
	}
	if p := w.problem(w.do(request{method: "POST", path: "/v1/identities", as: "admin", body: `{"handle":"twice"}`})); p.Code != "a2a.handle_taken" {
		t.Errorf("the handle without the Idempotency-Key: %+v", p)
	}
	// Another organization's admin with the same id learns and gets nothing of it.
	theirs := w.object(w.do(request{method: "POST", path: "/v1/keys", as: "foreign admin", body: `{"role":"viewer"}`,
		header: map[string]string{"Idempotency-Key": "making a role's key"}}))
	ours := w.object(w.do(request{method: "POST", path: "/v1/keys", as: "admin", body: `{"role":"viewer"}`,
		header: map[string]string{"Idempotency-Key": "making a role's key"}}))
	if theirs["id"] == ours["id"] || theirs["secret"] == ours["secret"] || ours["secret"] == nil {
		t.Errorf("two organizations share a key: %v %v", theirs["id"], ours["id"])
	}
	w.key["made"] = ours["secret"].(string)
	if r := w.do(request{method: "GET", path: "/v1/identities", as: "made"}); r.status != 200 {
		t.Errorf("the key does not work: %s", r.body)
	}

	// The secret is told no longer than anybody retries.
	w.clock.Forward(25 * time.Hour)
	late := w.object(w.do(request{method: "POST", path: "/v1/keys", as: "admin", body: `{"role":"viewer"}`,
		header: map[string]string{"Idempotency-Key": "making a role's key"}}))
	if late["id"] != ours["id"] || late["secret"] != nil {
		t.Errorf("a day later: %v", late)
	}
}

func idOf(object map[string]any) any {
	if id, there := object["id"]; there {
		return id
	}
	return object["identity_id"]
}

// A rotation that is made again would push out the secret that the receiver still has.
func TestRotatingAgainRotatesOnce(t *testing.T) {
	w := newWorld(t)
	hook, _ := w.toldHook()
	rotate := func(id string) any {
		t.Helper()
		r := request{method: "POST", path: "/v1/webhooks/" + hook.ID.String() + "/rotate-secret", as: "admin", header: map[string]string{}}
		if id != "" {
			r.header["Idempotency-Key"] = id
		}
		return w.object(w.do(r))["secret"]
	}
	first := rotate("one")
	if again := rotate("one"); again != first {
		t.Error("a retry rotates again")
	}
	if now, err := w.hooks.Hook(t.Context(), hook.Organization, hook.ID); err != nil || now.Keys.Previous.Reveal() != hook.Keys.Current.Reveal() {
		t.Errorf("the secret before signs no more: %v", err)
	}
	if next := rotate("two"); next == first {
		t.Error("another id rotates nothing")
	}
	second := rotate("")
	if third := rotate(""); third == second {
		t.Error("without an id nothing is rotated")
	}
}
