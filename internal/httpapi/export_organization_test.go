package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestExportHasEverythingOnce(t *testing.T) {
	w := everyRoute(t)
	text := strings.Repeat("x", 200_000)
	ids := map[string]int{}
	for n := range 6 {
		id := w.sent()
		ids[id] = 1
		for range n * 3 {
			w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/messages", as: "asker", body: `{"message":"` + text + `"}`}))
			ids[id]++
		}
	}
	w.object(w.do(request{method: "POST", path: "/v1/a2a/connections", as: "asker", body: `{"target_handle":"stranger"}`}))
	w.object(w.do(request{method: "PUT", path: "/v1/identities/helper/a2a/access", as: "helper", body: `{"rules":[{"effect":"deny","verified":false}]}`}))

	for n := range 3 { // the first has more deliveries than are read at once
		h, _ := w.toldHook()
		for sequence := range int64(250 - 125*n) {
			w.parked(h, sequence+2)
		}
	}

	for _, as := range []string{"admin", "foreign admin"} {
		organization := w.in(w.key[as]).Organization.String()
		count, messages, seen := map[string]int{}, map[string]int{}, map[string]bool{}
		cursor, pages := "", 0
		for more := true; more; pages++ {
			a := w.do(request{method: "POST", path: "/v1/organizations/" + organization + "/export" + cursor, as: as})
			if a.status != 200 || a.header["Content-Type"] != "application/x-ndjson" || len(a.body) > 5_000_000 || !strings.HasSuffix(a.body, "\n") {
				t.Fatalf("%d %s, %d bytes", a.status, a.header["Content-Type"], len(a.body))
			}
			all := strings.Split(strings.TrimSuffix(a.body, "\n"), "\n")
			for n, text := range all {
				var line struct {
					Type string
					Data json.RawMessage
				}
				if strings.Contains(text, "whsec_") {
					t.Errorf("a secret: %s", text)
				}
				if err := json.Unmarshal([]byte(text), &line); err != nil {
					t.Fatalf("line %d: %v: %.200s", n, err, text)
				}
				if last := line.Type == "next" || line.Type == "end"; last != (n == len(all)-1) {
					t.Fatalf("line %d of %d has the type %s", n, len(all), line.Type)
				} else if last {
					more = line.Type == "next"
					cursor = "?cursor=" + url.QueryEscape(a.header["Next-Cursor"])
					continue
				}
				var data struct {
					ID     string
					TaskID string `json:"task_id"`
				}
				if err := json.Unmarshal(line.Data, &data); err != nil || data.ID == "" || seen[data.ID] {
					t.Fatalf("%s %s: %v, seen %v", line.Type, data.ID, err, seen[data.ID])
				}
				seen[data.ID] = true
				count[line.Type]++
				messages[data.TaskID]++
			}
		}
		want := "map[connection:1 delivery:378 identity:3 key:6 message:51 organization:1 task:6 webhook:3]"
		if as == "foreign admin" {
			want = "map[connection:1 identity:1 key:2 organization:1]"
		} else if pages < 3 {
			t.Errorf("10 MB on %d pages", pages)
		}
		if got := fmt.Sprint(count); got != want {
			t.Errorf("%s: %s, want %s", as, got, want)
		}
		for id, n := range ids {
			if as == "admin" && messages[id] != n {
				t.Errorf("task %s has %d messages, want %d", id, messages[id], n)
			}
		}
	}
	w.clock.Forward(time.Second)
	if a := w.do(request{method: "POST", path: "/v1/organizations/" + w.in(w.key["admin"]).Organization.String() + "/export?cursor=AAAA", as: "admin"}); a.status != 400 {
		t.Errorf("a made-up cursor: %d", a.status)
	}
}
