package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"baton/internal/directory"
)

// A key that is revoked while a call of it is held, or a stream of it open, works for 30 seconds more there too, and so do
// the keys of a deleted agent and of a suspended organization.
func TestAHeldCallEndsWithItsKey(t *testing.T) {
	for what, end := range map[string]func(w *eventsWorld){
		"a revoked key": func(w *eventsWorld) {
			w.must(w.people.RevokeKey(w.Context(), w.in(w.key["admin"]), w.in(w.key["asker"]).KeyID.String()))
		},
		"a key that ended": func(w *eventsWorld) { w.clock.Forward(time.Hour) },
		"a deleted agent": func(w *eventsWorld) {
			w.must(w.people.DeleteIdentity(w.Context(), w.in(w.key["admin"]), "asker"))
		},
		"a suspended organization": func(w *eventsWorld) {
			_, err := w.people.SuspendOrganization(w.Context(), w.in(w.key["operator"]), w.asker.Organization.ID.String(), true)
			w.must(err)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newEventsWorld(t)
			if what == "a key that ended" {
				w.key["asker"] = w.newKey(w.key["admin"], directory.NewKeyRequest{Identity: "asker", ExpiresAt: w.clock.Now().Add(40 * time.Minute)})
			}
			id := w.sent()
			w.happen(1)
			s, stream := w.connect(t.Context(), "?since=2020-01-01T00:00:00Z", "")
			defer stream.Close()
			if got := s.next(t); got != 2 {
				t.Fatalf("heard %d", got)
			}
			held := map[string]request{
				"a wait for an event": {method: "GET", path: "/v1/events/wait?timeout_ms=55000", as: "asker"},
				"a wait for a task":   {method: "GET", path: "/v1/a2a/tasks/" + id + "?wait=25", as: "asker"},
			}
			answers := map[string]chan reply{}
			for name, r := range held {
				answer := make(chan reply, 1)
				answers[name] = answer
				go func() { answer <- w.do(r) }()
			}
			time.Sleep(300 * time.Millisecond) // they are held
			end(w)
			w.clock.Forward(31 * time.Second)
			w.happen(1)
			if got := s.next(t); got != 0 {
				t.Errorf("the stream told of event %d", got)
			}
			for name, answer := range answers {
				if a := <-answer; a.status != 401 {
					t.Errorf("%s: %d %s", name, a.status, a.body)
				}
			}
		})
	}
}

// What a claim took is not told to a key that ended meanwhile, and comes back with its lease; a send that was held is
// answered, but not with what came after.
func TestAHeldWriteEndsWithItsKey(t *testing.T) {
	w := newWorld(t)
	revoke := func(who string) {
		w.must(w.people.RevokeKey(t.Context(), w.in(w.key["admin"]), w.in(w.key[who]).KeyID.String()))
		w.clock.Forward(31 * time.Second)
	}
	claim := make(chan reply, 1)
	go func() {
		claim <- w.do(request{method: "POST", path: "/v1/a2a/tasks/claim", as: "bystander", body: `{"wait":25}`})
	}()
	time.Sleep(300 * time.Millisecond)
	revoke("bystander")
	w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"bystander","message":"x"}`}))
	if a := <-claim; a.status != 401 {
		t.Errorf("a claim: %d %s", a.status, a.body)
	}

	send := make(chan reply, 1)
	go func() {
		send <- w.do(request{method: "POST", path: "/v1/a2a/tasks?wait=25", as: "asker", body: `{"target_handle":"helper","message":"held"}`})
	}()
	time.Sleep(500 * time.Millisecond)
	revoke("asker")
	items := w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/search?q=held", as: "helper"}))["items"].([]any)
	if len(items) == 1 {
		w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + items[0].(map[string]any)["id"].(string) + "/reply", as: "helper",
			body: `{"intent":"complete","message":"a late secret"}`}))
	}
	if a := <-send; a.status != 201 || strings.Contains(a.body, "late secret") {
		t.Errorf("a send: %d %s", a.status, a.body)
	}
}
