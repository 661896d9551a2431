package system

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/client"
	"baton/internal/demo"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receiver is a webhook's receiver on this machine, which LocalReceivers lets the deployed functions call.
type receiver struct {
	url string

	mu     sync.Mutex
	got    []arrival
	answer http.HandlerFunc // 200 without one
}

// arrival is one request that a receiver got.
type arrival struct {
	id     string
	header http.Header
	body   []byte
	event  client.Event
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	a := arrival{id: req.Header.Get(client.HeaderWebhookID), header: req.Header}
	a.body, _ = io.ReadAll(req.Body)
	json.Unmarshal(a.body, &a.event)
	r.mu.Lock()
	r.got = append(r.got, a)
	answer := r.answer
	r.mu.Unlock()
	if answer != nil {
		answer(w, req)
	}
}

// says is what it answers from now on.
func (r *receiver) says(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func says(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "so it says %d", status)
	}
}

// all is what it got, once that is at least n requests.
func (r *receiver) all(t *testing.T, n int) (got []arrival) {
	t.Helper()
	await(t, fmt.Sprintf("%d requests", n), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		got = slices.Clone(r.got)
		return len(got) >= n
	})
	return got
}

// await looks until it is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", what)
		}
	}
}

// subscribe has a receiver told of what an agent must see.
func subscribe(t *testing.T, o demo.Organization, a demo.Agent, r *receiver, events ...string) client.Webhook {
	t.Helper()
	hook, err := o.Admin.CreateWebhook(t.Context(), client.WebhookFields{URL: &r.url, Events: events, IdentityID: new("@" + a.Handle)})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hook.Secret, "whsec_") || !hook.Enabled || hook.IdentityID != a.ID {
		t.Fatalf("made %+v", hook)
	}
	return hook
}

// deliveries are those of a webhook, newest event first.
func deliveries(t *testing.T, o demo.Organization, hook client.Webhook) (all []client.Delivery) {
	t.Helper()
	for d, err := range o.Admin.Deliveries(t.Context(), hook.ID) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// delivery is the only one of a webhook, once it stands where it should.
func delivery(t *testing.T, o demo.Organization, hook client.Webhook, status client.DeliveryStatus) (d client.Delivery) {
	t.Helper()
	await(t, "a delivery that is "+string(status), func() bool {
		all := deliveries(t, o, hook)
		if len(all) > 1 {
			t.Fatalf("more than one delivery: %+v", all)
		}
		if len(all) == 0 {
			return false
		}
		d = all[0]
		return d.Status == status
	})
	return d
}

// signedBy says whether the published library takes a request as signed by a secret.
func signedBy(t *testing.T, secret string, a arrival) bool {
	t.Helper()
	library, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return library.Verify(a.body, a.header) == nil
}

// Stream, relay, queue, function, receiver: what was said arrives, signed, and after a rotation by both secrets.
func TestAWebhookIsTold(t *testing.T) {
	t.Parallel()
	w := world(t)
	from, to := pair(t)
	r := newReceiver(t)
	hook := subscribe(t, w.Bank, to, r, client.EventCreated, client.EventMessage)
	sent := newTask(t, from, to, "Refund order 4182, 日本.")
	first := r.all(t, 1)[0]
	about, err := first.event.Task()
	if err != nil || first.event.Type != client.EventCreated || first.event.IdentityID != to.ID || first.event.OrganizationID != w.Bank.ID ||
		about.TaskID != sent.ID || about.Message != "Refund order 4182, 日本." {
		t.Errorf("told %s, %v", first.body, err)
	}
	if !signedBy(t, hook.Secret, first) {
		t.Error("the published library does not take the signature")
	}
	if e, err := client.Verify(first.header, first.body, hook.Secret); err != nil || e.ID != first.event.ID {
		t.Errorf("verified %+v, %v", e, err)
	}
	if d := delivery(t, w.Bank, hook, client.Delivered); d.ID != first.id || d.EventID != first.event.ID || d.Tries != 1 ||
		len(d.Attempts) != 1 || d.Attempts[0].StatusCode != 200 || d.Attempts[0].Result != "delivered" {
		t.Errorf("logged %+v", d)
	}

	rotated, err := w.Bank.Admin.RotateWebhookSecret(t.Context(), hook.ID)
	if err != nil || rotated.Secret == hook.Secret || rotated.PreviousSecretUntil.Before(time.Now().Add(23*time.Hour)) {
		t.Fatalf("rotated %+v, %v", rotated, err)
	}
	if _, err := from.Client.Add(t.Context(), sent.ID, client.Draft{Message: "It is urgent."}); err != nil {
		t.Fatal(err)
	}
	second := r.all(t, 2)[1]
	if signatures := strings.Fields(second.header.Get("Webhook-Signature")); len(signatures) != 2 || second.event.Type != client.EventMessage {
		t.Errorf("%s is signed by %q", second.event.Type, signatures)
	}
	for name, secret := range map[string]string{"old": hook.Secret, "new": rotated.Secret} {
		if !signedBy(t, secret, second) {
			t.Errorf("the %s secret did not sign", name)
		}
	}
	if read, err := w.Bank.Admin.Webhook(t.Context(), hook.ID); err != nil || read.Secret != "" || read.URL != r.url {
		t.Errorf("read %+v, %v", read, err)
	}
	if err := w.Bank.Admin.DeleteWebhook(t.Context(), hook.ID); err != nil {
		t.Error(err)
	}
	if _, err := w.Bank.Admin.Webhook(t.Context(), hook.ID); !client.HasStatus(err, http.StatusNotFound) {
		t.Errorf("a deleted one: %v", err)
	}
}

// One receiver never answers; what is for the other arrives all the same, and is tried once.
func TestADeadReceiverNextToALiveOne(t *testing.T) {
	t.Parallel()
	w := world(t)
	from, to := pair(t)
	over := make(chan struct{})
	dead, live := newReceiver(t), newReceiver(t)
	t.Cleanup(func() { close(over) }) // before the servers close, which wait for their requests
	dead.says(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	})
	deadHook := subscribe(t, w.Bank, to, dead, client.EventCreated)
	liveHook := subscribe(t, w.Bank, to, live, client.EventCreated)
	const tasks = 5
	want := map[string]bool{}
	for n := range tasks {
		want[newTask(t, from, to, fmt.Sprint("Number ", n)).ID] = true
	}
	got := map[string]bool{}
	for _, a := range live.all(t, tasks) {
		got[a.event.AggregateID] = true
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("told of %v, want %v", got, want)
	}
	await(t, "the log of the live one", func() bool { return len(deliveries(t, w.Bank, liveHook)) == tasks })
	for _, d := range deliveries(t, w.Bank, liveHook) {
		if d.Status != client.Delivered || d.Tries != 1 {
			t.Errorf("to the live one: %+v", d)
		}
	}
	await(t, "a time-out of the dead one", func() bool { return len(deliveries(t, w.Bank, deadHook)) > 0 })
	for _, d := range deliveries(t, w.Bank, deadHook) {
		if d.Status != client.DeliveryPending || len(d.Attempts) == 0 || d.Attempts[0].Problem != "timeout" {
			t.Errorf("to the dead one: %+v", d)
		}
	}
	if hook, err := w.Bank.Admin.Webhook(t.Context(), deadHook.ID); err != nil || !hook.Enabled || hook.FailingSince.IsZero() {
		t.Errorf("the dead one: %+v, %v", hook, err)
	}
}

// A failure is repeated under the same id until it succeeds.
func TestAReceiverThatRecovers(t *testing.T) {
	t.Parallel()
	w := world(t)
	from, to := pair(t)
	r := newReceiver(t)
	r.says(func(w http.ResponseWriter, req *http.Request) {
		r.says(nil)
		says(500)(w, req)
	})
	hook := subscribe(t, w.Bank, to, r, client.EventCreated)
	newTask(t, from, to, "Hello?")
	d := delivery(t, w.Bank, hook, client.Delivered)
	got := r.all(t, 2)
	if got[0].id != got[1].id || got[0].id != d.ID || string(got[0].body) != string(got[1].body) || !signedBy(t, hook.Secret, got[1]) {
		t.Errorf("first %s %s, then %s %s", got[0].id, got[0].body, got[1].id, got[1].body)
	}
	if d.Tries != 2 || d.Attempts[0].StatusCode != 500 || d.Attempts[0].Response != "so it says 500" || d.Attempts[1].Result != "delivered" {
		t.Errorf("logged %+v", d)
	}
}

// A 410 parks the delivery and disables the webhook, of which the log tells; enabled again, the delivery is replayed.
func TestADeliveryIsParkedAndReplayed(t *testing.T) {
	t.Parallel()
	w := world(t)
	from, to := pair(t)
	r := newReceiver(t)
	r.says(says(410))
	hook := subscribe(t, w.Bank, to, r, client.EventCreated)
	newTask(t, from, to, "Anybody there?")
	parked := delivery(t, w.Bank, hook, client.Parked)
	if parked.Tries != 1 || parked.Attempts[0].Result != "gone" || !parked.NextAttemptAt.IsZero() {
		t.Errorf("parked as %+v", parked)
	}
	if disabled, err := w.Bank.Admin.Webhook(t.Context(), hook.ID); err != nil || disabled.Enabled || disabled.DisabledReason != "gone" {
		t.Errorf("the webhook is %+v, %v", disabled, err)
	}
	told := 0
	for f := (client.EventFilter{Type: client.EventWebhookDisabled}); ; {
		page, err := w.Bank.Admin.EventPage(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Items {
			if e.AggregateID == hook.ID || strings.Contains(string(e.Payload), hook.ID) {
				told++
			}
		}
		if f.Cursor == page.Cursor || len(page.Items) == 0 {
			break
		}
		f.Cursor = page.Cursor
	}
	if told != 1 {
		t.Errorf("told %d times that it was disabled", told)
	}

	r.says(nil)
	on := true
	if _, err := w.Bank.Admin.UpdateWebhook(t.Context(), hook.ID, client.WebhookFields{Enabled: &on}); err != nil {
		t.Fatal(err)
	}
	if again, err := w.Bank.Admin.Redeliver(t.Context(), hook.ID, parked.ID); err != nil || again.Status != client.DeliveryPending || again.ID != parked.ID {
		t.Fatalf("%+v, %v", again, err)
	}
	delivery(t, w.Bank, hook, client.Delivered)
	if got := r.all(t, 2); got[1].id != got[0].id {
		t.Errorf("replayed as %s, it was %s", got[1].id, got[0].id)
	}
}
