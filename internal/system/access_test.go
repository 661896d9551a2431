package system

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// revokedKeyWorks is the longest that a revoked key still works; the template's RevokedKeySeconds.
const revokedKeyWorks = 30 * time.Second

// A revoked key is refused by every function within the promised time, those that know it included.
func TestARevokedKeyStops(t *testing.T) {
	t.Parallel()
	a := agent(t, world(t).Shop, false)
	admin := world(t).Shop.Key.Secret
	made := call(t, admin, "POST", "/v1/keys", map[string]any{"identity": a.Handle})
	var key struct{ ID, Secret string }
	if err := json.Unmarshal(made.body, &key); err != nil || made.status != http.StatusCreated {
		t.Fatalf("%d %s", made.status, made.body)
	}
	paths := []string{"/v1/a2a/tasks/search", "/v1/identities/" + a.Handle, "/v1/discover"}
	for _, path := range paths {
		if got := call(t, key.Secret, "GET", path, nil); got.status != http.StatusOK {
			t.Fatalf("%s with a good key: %d %s", path, got.status, got.body)
		}
	}
	if got := call(t, admin, "DELETE", "/v1/keys/"+key.ID, nil); got.status != http.StatusNoContent {
		t.Fatalf("revoke: %d %s", got.status, got.body)
	}
	revoked := time.Now()
	for _, path := range paths {
		for {
			at := time.Now()
			if call(t, key.Secret, "GET", path, nil).status == http.StatusUnauthorized {
				t.Logf("%s refuses it after %s", path, at.Sub(revoked).Round(10*time.Millisecond))
				break
			}
			if at.Sub(revoked) > revokedKeyWorks {
				t.Fatalf("%s takes it %s after it was revoked", path, at.Sub(revoked))
			}
			time.Sleep(500 * time.Millisecond)
		}
	}
}

// Whoever a private worker does not know may ask; what was sent stays when the connection goes.
func TestAPrivateWorkerIsAsked(t *testing.T) {
	t.Parallel()
	requester, worker := agent(t, world(t).Shop, false), agent(t, world(t).Bank, false)
	send := func(want int) (id string) {
		t.Helper()
		got := call(t, requester.Key, "POST", "/v1/a2a/tasks", map[string]any{"target_handle": worker.Handle, "message": "May I?"})
		if got.status != want || want == http.StatusForbidden && got.problem(t).Code != "a2a.not_admitted" {
			t.Fatalf("send: %d %s, want %d", got.status, got.body, want)
		}
		var sent struct{ ID string }
		json.Unmarshal(got.body, &sent)
		return sent.ID
	}
	move := func(key, id, how string) {
		t.Helper()
		if got := call(t, key, "POST", "/v1/a2a/connections/"+id+"/"+how, nil); got.status != http.StatusOK {
			t.Fatalf("%s: %d %s", how, got.status, got.body)
		}
	}
	ask := func(want int) (id string) {
		t.Helper()
		got := call(t, requester.Key, "POST", "/v1/a2a/connections", map[string]any{"target_handle": worker.Handle, "note": "For refunds."})
		var made struct{ ID string }
		if err := json.Unmarshal(got.body, &made); err != nil || got.status != want {
			t.Fatalf("ask: %d %s, want %d", got.status, got.body, want)
		}
		return made.ID
	}

	send(http.StatusForbidden)
	id := ask(http.StatusCreated)
	if again := ask(http.StatusOK); again != id {
		t.Errorf("asked twice: %s and %s", id, again)
	}
	send(http.StatusForbidden)
	move(worker.Key, id, "approve")
	task := send(http.StatusCreated)
	move(requester.Key, id, "revoke")
	send(http.StatusForbidden)
	if got := call(t, worker.Key, "POST", "/v1/a2a/tasks/"+task+"/reply", map[string]any{"intent": "complete", "message": "Done."}); got.status != http.StatusOK {
		t.Errorf("the open task goes on: %d %s", got.status, got.body)
	}

	rules := func(rules ...map[string]any) {
		t.Helper()
		if got := call(t, worker.Key, "PUT", "/v1/identities/"+worker.Handle+"/a2a/access", map[string]any{"rules": rules}); got.status != http.StatusOK {
			t.Fatalf("rules: %d %s", got.status, got.body)
		}
	}
	rules(map[string]any{"effect": "allow", "handle": "@" + requester.Handle})
	send(http.StatusCreated)
	rules(map[string]any{"effect": "allow", "handle": requester.Handle}, map[string]any{"effect": "deny", "organization_id": world(t).Shop.ID})
	send(http.StatusForbidden)
	if got := call(t, requester.Key, "POST", "/v1/a2a/connections", map[string]any{"target_handle": worker.Handle}); got.status != http.StatusForbidden {
		t.Errorf("a denied requester asks: %d %s", got.status, got.body)
	}
}

// What a deleted agent leaves open is ended in the background, with its events.
func TestADeletedAgentLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	requester, worker := pair(t)
	sent := newTask(t, requester, worker, "Still there?")
	back := newTask(t, requester, worker, "And this?")
	if got := call(t, world(t).Bank.Key.Secret, "DELETE", "/v1/identities/"+worker.Handle, nil); got.status != http.StatusNoContent {
		t.Fatalf("delete: %d %s", got.status, got.body)
	}
	if got := call(t, requester.Key, "POST", "/v1/a2a/tasks", map[string]any{"target_handle": worker.Handle, "message": "Hello?"}); got.status != http.StatusNotFound {
		t.Errorf("a send to it: %d %s", got.status, got.body)
	}
	for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(time.Second) {
		one, two := read(t, requester, sent.ID), read(t, requester, back.ID)
		if one.State == "failed" && two.State == "failed" {
			if one.Error != "The agent was deleted." {
				t.Errorf("the reason is %v", one.Error)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %s and %s", one.State, two.State)
		}
	}
}
