package httpapi_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/httpapi"
	"baton/internal/task"
)

// ids are the ids of a page's items, and the cursor behind it.
func (w *world) ids(r request) (ids []string, next string) {
	w.Helper()
	page := w.object(w.do(r))
	for _, item := range page["items"].([]any) {
		ids = append(ids, item.(map[string]any)["id"].(string))
	}
	next, _ = page["next_cursor"].(string)
	return ids, next
}

// pages walks a list to its end.
func (w *world) pages(r request) []string {
	w.Helper()
	ids, next := w.ids(r)
	return append(ids, w.rest(r, next)...)
}

// rest walks a list to its end from a cursor on, or nowhere from none.
func (w *world) rest(r request, next string) (all []string) {
	w.Helper()
	for path := r.path; next != ""; {
		var ids []string
		r.path = path + "&cursor=" + next
		ids, next = w.ids(r)
		all = append(all, ids...)
	}
	return all
}

func TestLists(t *testing.T) {
	w := newWorld(t)
	var sent []string
	var middle time.Time
	for n := range 6 {
		if n == 3 {
			time.Sleep(2 * time.Millisecond) // times are whole milliseconds
			middle = w.clock.Now().Truncate(time.Millisecond)
		}
		sent = append(sent, w.sent())
	}
	slices.Reverse(sent) // newest change first
	back := w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "helper", body: `{"target_handle":"asker","message":"and back"}`}))
	w.do(request{method: "POST", path: "/v1/a2a/tasks/" + sent[5] + "/reply", as: "helper", body: `{"intent":"progress","message":"shipment"}`})
	moved := []string{sent[5], back["id"].(string), sent[0], sent[1], sent[2], sent[3], sent[4]}
	at := func(d time.Duration) string { return url.QueryEscape(middle.Add(d).UTC().Format(time.RFC3339Nano)) }
	contextOf := func(id string) string {
		return w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "asker"}))["context_id"].(string)
	}
	search, received, outbox := "/v1/a2a/tasks/search", "/v1/identities/helper/a2a/tasks", "/v1/identities/@Asker/a2a/sent/tasks"
	for _, row := range []struct {
		path, as string
		want     []string
	}{
		{search + "?limit=100", "helper", moved},
		{search + "?limit=3", "helper", moved},
		{search + "?direction=both&limit=1", "asker", moved},
		{search + "?direction=outbound", "helper", moved[1:2]},
		{search + "?direction=inbound", "asker", moved[1:2]},
		{received + "?limit=2", "helper", append([]string{sent[5]}, sent[:5]...)},
		{received + "?direction=outbound", "helper", moved[1:2]},
		{received + "?direction=both", "viewer", moved},
		{outbox + "?limit=4", "asker", append([]string{sent[5]}, sent[:5]...)},
		{outbox + "?direction=outbound", "member", append([]string{sent[5]}, sent[:5]...)},
		{search + "?state=working", "asker", moved[:1]},
		{search + "?state=completed", "asker", nil},
		{search + "?requester_handle=@Helper", "asker", moved[1:2]},
		{search + "?worker_handle=HELPER&state=working", "asker", moved[:1]},
		{search + "?worker_handle=nobody", "asker", nil},
		{search + "?requester_handle=" + w.helper.ID.String(), "asker", moved[1:2]}, // by its id
		{search + "?worker_handle=" + strings.ToUpper(w.helper.ID.String()) + "&state=working", "asker", moved[:1]},
		{search + "?worker_handle=" + nowhere, "asker", nil},
		{"/v1/identities/asker/a2a/tasks?direction=both&identity_id=@Asker", "viewer", moved},
		{search + "?context_id=" + contextOf(sent[2]), "asker", sent[2:3]},
		{search + "?context_id=" + nowhere, "asker", nil},
		{search + "?q=shipment", "asker", moved[:1]},
		{search + "?q=AND+back", "asker", moved[1:2]},
		{search + "?created_since=" + at(0) + "&direction=outbound", "asker", sent[:3]},
		{search + "?created_since=" + at(time.Hour), "asker", nil},
		{search + "?created_since=1960-01-01T00:00:00Z&limit=2", "asker", moved},
		{search + "?since=" + at(0) + "&direction=outbound", "asker", append([]string{sent[5]}, sent[:3]...)},
		{search + "?since=0001-01-01T00:00:00Z", "asker", moved},
		{search + "?since=1960-01-01T00:00:00Z", "asker", moved},
		{search + "?since=2020-01-01T00:00:00+01:00&limit=2", "asker", moved}, // its plus is a space
		{search + "?since=9999-12-31T23:59:59.999Z", "asker", nil},
		{search + "?since=" + url.QueryEscape(back["updated_at"].(string)), "asker", moved[:1]}, // strictly after
		{search + "?created_since=" + url.QueryEscape(back["created_at"].(string)) + "&direction=inbound", "asker", moved[1:2]},
		{search + "?identity_id=" + w.asker.ID.String(), "viewer", moved},
		{search + "?identity_id=" + w.asker.ID.String(), "asker", moved},
		{"/v1/a2a/tasks?identity_id=" + w.asker.ID.String(), "viewer", moved},
		{"/v1/a2a/tasks?", "asker", moved},
	} {
		if got := w.pages(request{method: "GET", path: row.path, as: row.as}); !slices.Equal(got, row.want) {
			t.Errorf("%s as %s: %v, want %v", row.path, row.as, got, row.want)
		}
	}
	whole := w.handlers["list-tasks"]
	w.handlers["list-tasks"] = httpapi.ListTasks(w.edge, short{w.tasks})
	if got := w.pages(request{method: "GET", path: "/v1/a2a/tasks?", as: "asker"}); !slices.Equal(got, moved) {
		t.Errorf("all of them, where a page has few: %v, want %v", got, moved)
	}
	w.handlers["list-tasks"] = whole
	if a := w.do(request{method: "GET", path: "/v1/a2a/tasks?identity_id=" + w.asker.ID.String(), as: "asker"}); a.header["Deprecation"] == "" {
		t.Error("the deprecated list doesn't say so")
	}

	for _, row := range []struct{ path, as, field string }{
		{search + "?limit=0", "asker", "limit"},
		{search + "?limit=101", "asker", "limit"},
		{search + "?limit=", "asker", "limit"},
		{search + "?limit=5&limit=6", "asker", "limit"},
		{search + "?state=done", "asker", "state"},
		{search + "?state=", "asker", "state"},
		{search + "?direction=sideways", "asker", "direction"},
		{outbox + "?direction=inbound", "asker", "direction"},
		{outbox + "?direction=both", "asker", "direction"},
		{search + "?requester_handle=", "asker", "requester_handle"},
		{search + "?worker_handle=a b", "asker", "worker_handle"},
		{search + "?context_id=x", "asker", "context_id"},
		{search + "?since=yesterday", "asker", "since"},
		{search + "?since=2026-01-01", "asker", "since"},
		{search + "?since=2026-13-01T00:00:00Z", "asker", "since"},
		{search + "?created_since=1", "asker", "created_since"},
		{search + "?q=", "asker", "q"},
		{search + "?q=" + strings.Repeat("a", 501), "asker", "q"},
		{search + "?q=...", "asker", "q"},
		{search + "?surprise=1", "asker", "surprise"},
		{search + "?identity_id=x", "viewer", "identity_id"},
		{search + "?identity_id=" + w.helper.ID.String(), "member", ""},
		{"/v1/a2a/tasks", "viewer", ""},
		{"/v1/a2a/tasks?state=working", "asker", "state"},
		{"/v1/a2a/tasks/" + sent[0] + "/messages?limit=101", "asker", "limit"},
		{"/v1/a2a/tasks/" + sent[0] + "/messages?q=x", "asker", "q"},
		{"/v1/a2a/tasks/" + sent[0] + "?limit=1", "asker", "limit"},
		{"/v1/a2a/messages?role=worker", "asker", "role"},
		{"/v1/a2a/messages?task_id=x", "asker", "task_id"},
		{"/v1/a2a/messages?context_id=", "asker", "context_id"},
		{"/v1/a2a/messages?direction=in", "asker", "direction"},
		{"/v1/a2a/messages?state=working", "asker", "state"},
		{"/v1/a2a/messages?created_since=2026-01-01T00:00:00Z", "asker", "created_since"},
		{"/v1/a2a/messages?q=%22%22", "asker", "q"},
		{"/v1/a2a/messages?limit=0", "asker", "limit"},
		{"/v1/a2a/messages?cursor=x", "asker", "cursor"},
		{"/v1/a2a/contexts?limit=101", "asker", "limit"},
		{"/v1/a2a/contexts?cursor=x", "asker", "cursor"},
		{"/v1/a2a/contexts?state=working", "asker", "state"},
		{"/v1/a2a/contexts/" + contextOf(sent[0]) + "?limit=1", "asker", "limit"},
	} {
		a := w.do(request{method: "GET", path: row.path, as: row.as})
		if row.field == "" {
			continue
		}
		if a.status != 400 {
			t.Errorf("%s: %d %.300s", row.path, a.status, a.body)
		} else if p := w.problem(a); p.Errors[0].Field != row.field {
			t.Errorf("%s: field %s, want %s", row.path, p.Errors[0].Field, row.field)
		}
	}
}

// TestCursors has cursors that are not of the list where they are shown.
func TestCursors(t *testing.T) {
	w := newWorld(t)
	id, other := w.sent(), w.sent()
	w.sent()
	w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/messages", as: "asker", body: `{"message":"x"}`})
	search := "/v1/a2a/tasks/search?direction=outbound&limit=1"
	_, cursor := w.ids(request{method: "GET", path: search, as: "asker"})
	_, ofMessages := w.ids(request{method: "GET", path: "/v1/a2a/tasks/" + id + "/messages?limit=1", as: "asker"})
	if len(cursor) > 90 || strings.Contains(cursor, "=") {
		t.Errorf("cursor %s", cursor)
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	w.must(err)
	bad := []string{"", "x", cursor + "A", cursor[:len(cursor)-1], strings.ToUpper(cursor), "=" + cursor, url.QueryEscape("0' OR 1=1")}
	for i := range raw {
		flipped := slices.Clone(raw)
		flipped[i] ^= 1 << (i % 8)
		bad = append(bad, base64.RawURLEncoding.EncodeToString(flipped))
	}
	refused := func(path, as string) {
		t.Helper()
		a := w.do(request{method: "GET", path: path, as: as})
		if a.status != 400 || w.problem(a).Errors[0].Field != "cursor" {
			t.Errorf("%s as %s: %d %.300s", path, as, a.status, a.body)
		}
	}
	for _, c := range bad {
		refused(search+"&cursor="+c, "asker")
	}
	of := func(path, cursor string) string { return path + "&cursor=" + cursor }
	refused(of(search, cursor), "helper")                                        // another caller
	refused(of(search, cursor), "stranger")                                      // of another organization
	refused(of(search+"&state=submitted", cursor), "asker")                      // other filters
	refused(of("/v1/a2a/tasks/search?limit=1", cursor), "asker")                 // fewer
	refused(of("/v1/identities/asker/a2a/sent/tasks?limit=1", cursor), "asker")  // another route
	refused(of("/v1/a2a/tasks/"+id+"/messages?limit=1", cursor), "asker")        // another kind of list
	refused(of("/v1/a2a/tasks/"+other+"/messages?limit=1", ofMessages), "asker") // another task
	refused(of("/v1/a2a/tasks/"+id+"/messages?limit=1", ofMessages), "helper")   // another caller
	refused(of(search+"&identity_id="+w.asker.ID.String(), cursor), "viewer")    // whose is not even his
	acting := func(agent, cursor string) request {
		return request{method: "GET", path: "/v1/a2a/tasks/" + id + "/messages?limit=1" + cursor, as: "member", header: map[string]string{"X-Act-As-Identity": agent}}
	}
	_, ofActing := w.ids(acting("asker", ""))
	if a := w.do(acting("helper", "&cursor="+ofActing)); a.status != 400 {
		t.Errorf("the same key as another agent: %d %s", a.status, a.body)
	}
	if a := w.do(request{method: "GET", path: of(strings.Replace(search, "limit=1", "limit=2", 1), cursor), as: "asker"}); a.status != 200 {
		t.Errorf("another limit: %d %s", a.status, a.body)
	}
	w.key["asker again"] = w.newKey(w.key["admin"], directory.NewKeyRequest{Identity: "asker"})
	if a := w.do(request{method: "GET", path: of(search, cursor), as: "asker again"}); a.status != 200 {
		t.Errorf("another key of the same agent: %d %s", a.status, a.body)
	}
	w.clock.Forward(2 * time.Hour)
	_, future := w.ids(request{method: "GET", path: search, as: "asker"})
	w.clock.Forward(-2 * time.Hour)
	refused(of(search, future), "asker")
	if a := w.do(request{method: "GET", path: of(search, cursor), as: "asker"}); a.status != 200 {
		t.Errorf("a good cursor: %d %s", a.status, a.body)
	}
}

// TestWalkWhileOthersWrite pages through tasks of which some move: those that stand still are each seen once.
func TestWalkWhileOthersWrite(t *testing.T) {
	w := newWorld(t)
	still := map[string]int{}
	var moving []string
	for n := range 30 {
		id := w.sent()
		if n%3 == 0 {
			moving = append(moving, id)
		} else {
			still[id] = 0
		}
	}
	path, cursor := "/v1/identities/helper/a2a/tasks?limit=4", ""
	for n := 0; ; n++ {
		ids, next := w.ids(request{method: "GET", path: path + cursor, as: "helper"})
		for _, id := range ids {
			if _, there := still[id]; there {
				still[id]++
			}
		}
		if next == "" {
			break
		}
		cursor = "&cursor=" + next
		w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + moving[n%len(moving)] + "/messages", as: "asker", body: fmt.Sprintf(`{"message":"%d"}`, n)}))
		w.sent()
	}
	for id, seen := range still {
		if seen != 1 {
			t.Errorf("task %s was seen %d times", id, seen)
		}
	}
}

// TestWalkGoesOnWithoutItsAgents deletes an agent while lists with its tasks are walked over: by the other side, and by
// its organization.
func TestWalkGoesOnWithoutItsAgents(t *testing.T) {
	for as, path := range map[string]func(*world) string{
		"helper": func(*world) string { return "/v1/identities/helper/a2a/tasks?limit=2" },
		"viewer": func(w *world) string { return "/v1/a2a/tasks/search?limit=2&identity_id=" + w.asker.ID.String() },
	} {
		t.Run(as, func(t *testing.T) {
			w := newWorld(t)
			var want []string
			for range 5 {
				want = append([]string{w.sent()}, want...)
			}
			walk := request{method: "GET", path: path(w), as: as}
			got, next := w.ids(walk)
			if a := w.do(request{method: "DELETE", path: "/v1/identities/asker", as: "admin"}); a.status != 204 {
				t.Fatalf("delete: %d %s", a.status, a.body)
			}
			w.clock.Forward(time.Minute) // nobody remembers the agent
			if got = append(got, w.rest(walk, next)...); !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// short gives pages of two.
type short struct{ *task.Service }

func (s short) List(ctx context.Context, q task.Query) (task.Page, error) {
	q.Limit = 2
	return s.Service.List(ctx, q)
}

// repeating shows the newest task of a list many times, as if there were as many like it.
type repeating struct {
	*task.Service
	times int
}

func (r *repeating) List(ctx context.Context, q task.Query) (task.Page, error) {
	page, err := r.Service.List(ctx, q)
	if err == nil {
		page.Items = slices.Repeat(page.Items[:1], r.times)
	}
	return page, err
}

// TestWholeListHasAnEnd fills the deprecated list to 5 MB, and one task over.
func TestWholeListHasAnEnd(t *testing.T) {
	w := newWorld(t)
	// A text of which each character is six bytes of JSON.
	w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","message":` + quote(strings.Repeat("\x01", 200)) + `}`}))
	tasks := &repeating{w.tasks, 1}
	w.handlers["list-tasks"] = httpapi.ListTasks(w.edge, tasks)
	list := request{method: "GET", path: "/v1/a2a/tasks?identity_id=" + w.helper.ID.String(), as: "admin"}
	one := len(w.do(list).body)
	tasks.times = 2
	each := len(w.do(list).body) - one
	tasks.times = 1 + (5_000_000-one)/each
	a := w.do(list)
	if items := w.object(a)["items"].([]any); len(items) != tasks.times || len(a.body) > 5_000_000 || len(a.body) < 4_990_000 {
		t.Errorf("%d tasks in %d bytes, want %d", len(items), len(a.body), tasks.times)
	}
	tasks.times++
	if a := w.do(list); a.status != 400 || !strings.Contains(a.body, "/v1/a2a/tasks/search") {
		t.Errorf("one more: %d %.300s", a.status, a.body)
	}
	tasks.times = 100_000
	if a := w.do(list); a.status != 400 || !strings.Contains(a.body, "/v1/a2a/tasks/search") {
		t.Errorf("many more: %d %.300s", a.status, a.body)
	}
}
