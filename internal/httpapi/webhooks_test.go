package httpapi_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/internal/hookqueue"
	"baton/internal/httpapi"
	"baton/internal/localaws"
	"baton/internal/store"
	"baton/internal/task"
	"baton/internal/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// serveWebhooks adds the endpoint of webhooks, which may have public addresses only.
func (w *world) serveWebhooks(edge *httpapi.Edge) {
	w.Helper()
	config, _ := localaws.Config(w)
	db, queues := dynamodb.NewFromConfig(config), sqs.NewFromConfig(config)
	queue, err := queues.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: aws.String(localaws.Unique("deliveries"))})
	w.must(err)
	w.told = store.NewDeliveries(db, localaws.NewTable(w, "EventsTable"), nil, w.clock.Now)
	w.hooks = webhook.NewService(w.directory, w.told, hookqueue.New(queues, *queue.QueueUrl), webhook.Addresses{}, w.clock.Now)
	w.handlers["manage-webhooks"] = httpapi.ManageWebhooks(edge, w.hooks)
}

// toldHook is a hook of shop with a delivery that was parked.
func (w *world) toldHook() (webhook.Hook, webhook.Delivery) {
	w.Helper()
	of := w.in(w.key["admin"]).Organization
	url, types := "https://8.8.8.8/in", []string{"a2a.task.created"}
	h, err := w.hooks.Create(w.Context(), of, webhook.Edit{URL: &url, Events: &types})
	w.must(err)
	return h, w.parked(h, 1)
}

func (w *world) parked(h webhook.Hook, sequence int64) webhook.Delivery {
	w.Helper()
	now := w.clock.Now().Truncate(time.Millisecond)
	d := webhook.NewDelivery(h.ID, task.NewID(), task.EventCreated, sequence, now)
	d = d.After(webhook.Outcome{Result: webhook.Gone, Problem: webhook.ProblemStatus, Status: 410, Response: "go away"}, now, 0)
	w.must(w.told.SaveDelivery(w.Context(), h.Organization, d))
	return d
}

func (w *world) admin(method, path, body string) reply {
	w.Helper()
	return w.do(request{method: method, path: path, as: "admin", body: body})
}

func TestAWebhookFromItsMakingToItsEnd(t *testing.T) {
	w := newWorld(t)
	made := w.object(w.admin("POST", "/v1/webhooks", `{"url":"https://8.8.8.8:8443/in?x=1","events":["a2a.task.message","a2a.task.created"],"identity_id":"@Asker"}`))
	id, secret := made["id"].(string), made["secret"].(string)
	if made["url"] != "https://8.8.8.8:8443/in?x=1" || fmt.Sprint(made["events"]) != "[a2a.task.created a2a.task.message]" || made["identity_id"] != w.asker.ID.String() ||
		made["enabled"] != true || made["disabled_reason"] != nil || !strings.HasPrefix(secret, "whsec_") {
		t.Errorf("made %v", made)
	}
	path := "/v1/webhooks/" + id
	for _, as := range []string{"admin", "member", "viewer"} {
		read := w.object(w.do(request{method: "GET", path: path, as: as}))
		if _, shown := read["secret"]; shown || read["id"] != id {
			t.Errorf("read by %s: %v", as, read)
		}
	}
	edited := w.object(w.admin("PATCH", path, `{"enabled":false,"identity_id":"","events":["webhook.disabled"]}`))
	if edited["enabled"] != false || edited["identity_id"] != nil || fmt.Sprint(edited["events"]) != "[webhook.disabled]" || edited["url"] != made["url"] || edited["secret"] != nil {
		t.Errorf("edited %v", edited)
	}
	rotated := w.object(w.admin("POST", path+"/rotate-secret", ""))
	if rotated["secret"] == secret || !strings.HasPrefix(rotated["secret"].(string), "whsec_") || rotated["previous_secret_until"] == nil {
		t.Errorf("rotated %v", rotated)
	}
	if strings.Contains(w.log.take(), "whsec_") {
		t.Error("a secret is in the log")
	}
	if a := w.admin("DELETE", path, ""); a.status != 204 {
		t.Errorf("deleted: %d", a.status)
	}
	for _, c := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"GET", "/deliveries"}, {"POST", "/rotate-secret"}} {
		if a := w.admin(c[0], path+c[1], ""); a.status != 404 {
			t.Errorf("%s %s after the end: %d", c[0], c[1], a.status)
		}
	}
}

func TestWebhooksAndDeliveriesByPages(t *testing.T) {
	w := newWorld(t)
	h, _ := w.toldHook()
	want := []string{h.ID.String()}
	for range 4 {
		w.clock.Forward(time.Millisecond * 5)
		want = append(want, w.object(w.admin("POST", "/v1/webhooks", `{"url":"https://8.8.8.8/","events":["a2a.task.created"]}`))["id"].(string))
	}
	if got := w.walk("/v1/webhooks?limit=2", "id"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("hooks %v, want %v", got, want)
	}
	var ids []string
	for n := int64(6); n > 1; n-- {
		ids = append(ids, w.parked(h, n).ID.String())
	}
	got := w.walk("/v1/webhooks/"+h.ID.String()+"/deliveries?limit=2", "id")
	if len(got) != 6 || fmt.Sprint(got[:5]) != fmt.Sprint(ids) {
		t.Errorf("deliveries %v, want first %v", got, ids)
	}
}

// walk follows the cursors of a list and returns a field of all items.
func (w *world) walk(path, field string) (all []string) {
	w.Helper()
	for next := path; ; {
		page := w.object(w.admin("GET", next, ""))
		for _, item := range page["items"].([]any) {
			all = append(all, item.(map[string]any)[field].(string))
		}
		cursor, more := page["next_cursor"].(string)
		if !more {
			return all
		}
		next = path + "&cursor=" + cursor
	}
}

func TestRedeliverIsAccepted(t *testing.T) {
	w := newWorld(t)
	h, d := w.toldHook()
	path := "/v1/webhooks/" + h.ID.String() + "/deliveries"
	item := w.object(w.admin("GET", path, ""))["items"].([]any)[0].(map[string]any)
	attempt := item["attempts"].([]any)[0].(map[string]any)
	if item["status"] != "parked" || item["event_type"] != "a2a.task.created" || attempt["status_code"] != 410.0 || attempt["response"] != "go away" || attempt["problem"] != "http_status" {
		t.Errorf("%v", item)
	}
	a := w.admin("POST", path+"/"+d.ID.String()+"/redeliver", "")
	if again := w.object(a); a.status != 202 || again["status"] != "pending" || again["next_attempt_at"] == nil || again["id"] != d.ID.String() {
		t.Errorf("%d %v", a.status, again)
	}
	for _, none := range []string{nowhere, "x", task.NewID().String()} {
		if a := w.admin("POST", path+"/"+none+"/redeliver", ""); a.status != 404 {
			t.Errorf("delivery %s: %d", none, a.status)
		}
	}
}

// What may not be called is refused when the hook is made and when it is edited, by a 400 that says so and nothing more.
func TestAddressesThatAreRefused(t *testing.T) {
	w := newWorld(t)
	h, _ := w.toldHook()
	for _, url := range []string{
		"http://8.8.8.8/", "https://127.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://2130706433/", "https://0177.0.0.1/",
		"https://0x7f.1/", "https://127.1/", "https://169.254.169.254/latest/meta-data/", "https://[fd00:ec2::254]/", "https://10.0.0.1/",
		"https://172.16.0.1/", "https://192.168.1.1/", "https://100.64.0.1/", "https://0.0.0.0/", "https://[fe80::1]/", "https://[fc00::1]/",
		"https://localhost/", "https://user:pass@8.8.8.8/", "https://8.8.8.8:22/", "https://8.8.8.8/#x", "ftp://8.8.8.8/", "8.8.8.8", "",
		"https://metadata/", "https://127.0.0.1\\@8.8.8.8/", "https://①②⑦.0.0.1/",
	} {
		body := `{"url":` + quote(url) + `,"events":["a2a.task.created"]}`
		for _, a := range []reply{w.admin("POST", "/v1/webhooks", body), w.admin("PATCH", "/v1/webhooks/"+h.ID.String(), body)} {
			if p := w.problem(a); p.Status != 400 || p.Errors[0].Field != "url" {
				t.Errorf("%s: %+v", url, p)
			}
		}
	}
}

func TestWebhooksThatAreRefused(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]string{
		`{}`:                                     "400 url events",
		`{"url":"https://8.8.8.8/"}`:             "400 events",
		`{"events":[]}`:                          "400 url",
		`{"url":"https://8.8.8.8/","events":[]}`: "400 events",
		`{"url":"https://8.8.8.8/","events":["a2a.task.created","nothing"]}`:                       "400 events[1]",
		`{"url":"https://8.8.8.8/","events":["a2a.task.created","a2a.task.created"]}`:              "400 events[1]",
		`{"url":"https://8.8.8.8/","events":["a2a.task.created"],"secret":"whsec_x"}`:              "400 secret",
		`{"url":"https://8.8.8.8/","events":"a2a.task.created"}`:                                   "400 events",
		`{"url":"https://8.8.8.8/","events":["a2a.task.created"],"enabled":1}`:                     "400 enabled",
		`{"url":"https://8.8.8.8/","events":["a2a.task.created"],"identity_id":"-"}`:               "400 identity_id",
		`{"url":"https://8.8.8.8/","events":["a2a.task.created"],"identity_id":"stranger"}`:        "404",
		`{"url":"https://8.8.8.8/","events":["a2a.task.created"],"identity_id":"` + nowhere + `"}`: "404",
	} {
		p := w.problem(w.admin("POST", "/v1/webhooks", body))
		got := fmt.Sprint(p.Status)
		for _, e := range p.Errors {
			got += " " + e.Field
		}
		if got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func TestAnOrganizationHas50Webhooks(t *testing.T) {
	w := newWorld(t)
	body := func(n int) string {
		return fmt.Sprintf(`{"url":"https://8.8.8.%d/","events":["a2a.task.created"]}`, 8+n)
	}
	for n := range webhook.MaxHooks {
		if a := w.admin("POST", "/v1/webhooks", body(n)); a.status != 201 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if a := w.admin("POST", "/v1/webhooks", body(webhook.MaxHooks)); w.outcome(a) != "limit_reached" || a.status != 409 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if got := w.walk("/v1/webhooks?limit=20", "id"); len(got) != webhook.MaxHooks {
		t.Errorf("%d are listed", len(got))
	}
}

// What one organization does is told to one host by 5 of its hooks at most, whoever's they are and however they are written.
func TestWebhooksDontFloodOneHost(t *testing.T) {
	w := newWorld(t)
	body := func(url, identity string) string {
		return `{"url":"` + url + `","events":["a2a.task.created"],"identity_id":"` + identity + `"}`
	}
	hook := func(url, identity string) reply { return w.admin("POST", "/v1/webhooks", body(url, identity)) }
	full := func(a reply) bool { return a.status == 409 && w.outcome(a) == "limit_reached" }
	var last string
	for n, identity := range []string{"", "", "", "asker", "asker"} {
		last = w.object(hook(fmt.Sprintf("https://8.8.8.8/%d", n), identity))["id"].(string)
	}
	for _, url := range []string{"https://8.8.8.8/more", "https://8.8.8.8:443/more", "https://8.8.8.8/?more"} {
		if a := hook(url, "asker"); !full(a) {
			t.Errorf("a sixth at %s: %d %s", url, a.status, a.body)
		}
		if a := hook(url, ""); !full(a) {
			t.Errorf("a sixth for everyone at %s: %d %s", url, a.status, a.body)
		}
	}
	for range 2 { // told of other events than the asker's
		if a := hook("https://8.8.8.8/", "helper"); a.status != 201 {
			t.Errorf("for another agent: %d %s", a.status, a.body)
		}
	}
	other := w.admin("POST", "/v1/webhooks", `{"url":"https://8.8.8.8/kind","events":["a2a.task.message"]}`)
	if other.status != 201 {
		t.Errorf("for another kind of event: %d %s", other.status, other.body)
	}
	if a := w.admin("PATCH", "/v1/webhooks/"+w.object(other)["id"].(string), `{"events":["a2a.task.message","a2a.task.created"]}`); !full(a) {
		t.Errorf("for one kind more: %d %s", a.status, a.body)
	}
	elsewhere := w.object(hook("https://8.8.4.4/", ""))["id"].(string)
	path := "/v1/webhooks/" + elsewhere
	for _, edit := range []string{`{"url":"https://8.8.8.8/later"}`, `{"url":"https://8.8.8.8/later","identity_id":"asker"}`} {
		if a := w.admin("PATCH", path, edit); !full(a) {
			t.Errorf("moved there by %s: %d %s", edit, a.status, a.body)
		}
	}
	if a := w.admin("PATCH", "/v1/webhooks/"+last, `{"identity_id":"","enabled":false}`); !full(a) {
		t.Errorf("widened: %d %s", a.status, a.body)
	}
	if a := w.admin("PATCH", "/v1/webhooks/"+last, `{"enabled":false}`); a.status != 200 {
		t.Errorf("an edit that moves nothing: %d %s", a.status, a.body)
	}

	// Those that move there at the same moment don't all stay.
	var moved []string
	for n := range 8 {
		moved = append(moved, w.object(hook(fmt.Sprintf("https://1.1.1.%d/", n+1), ""))["id"].(string))
	}
	var all sync.WaitGroup
	for _, id := range moved {
		all.Go(func() { w.admin("PATCH", "/v1/webhooks/"+id, `{"url":"https://9.9.9.9/"}`) })
	}
	all.Wait()
	there := 0
	for _, url := range w.walk("/v1/webhooks?limit=50", "url") {
		if url == "https://9.9.9.9/" {
			there++
		}
	}
	if there > webhook.MaxAtHost {
		t.Errorf("%d moved to one host at once", there)
	}
}

// The secret of a webhook is told again for a day, to who makes or rotates it again with the same Idempotency-Key.
func TestTheSecretOfAWebhookIsToldForADay(t *testing.T) {
	w := newWorld(t)
	ids := map[string]string{}
	again := func(path, once string) any {
		t.Helper()
		r := request{method: "POST", path: path, as: "admin", header: map[string]string{"Idempotency-Key": once}}
		if path == "/v1/webhooks" {
			r.body = `{"url":"https://8.8.8.8/","events":["a2a.task.created"]}`
		}
		made := w.object(w.do(r))
		if path == "/v1/webhooks" {
			ids[once] = made["id"].(string)
		}
		return made["secret"]
	}
	made, other := again("/v1/webhooks", "one"), again("/v1/webhooks", "two")
	rotate := "/v1/webhooks/" + ids["two"] + "/rotate-secret"
	rotated := again(rotate, "a rotation")
	if rotated == other || again("/v1/webhooks", "two") != nil {
		t.Error("the making of a webhook tells what a rotation made")
	}
	w.clock.Forward(23 * time.Hour)
	if made == nil || again("/v1/webhooks", "one") != made || again(rotate, "a rotation") != rotated {
		t.Error("an answer that was lost is not told again")
	}
	w.clock.Forward(2 * time.Hour)
	if again("/v1/webhooks", "one") != nil {
		t.Error("a making tells the secret after a day")
	}
	if again(rotate, "a rotation") != nil {
		t.Error("a rotation tells the secret after a day")
	}
	// It still signs.
	id, _ := task.ParseID(ids["one"])
	if h, err := w.hooks.Hook(t.Context(), w.in(w.key["admin"]).Organization, id); err != nil || h.Keys.Current.Reveal() != made {
		t.Errorf("the secret is no longer there: %v", err)
	}
}
