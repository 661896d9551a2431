package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestLimits has every limit of a message at its edge and one over (contract section 2, "Limits").
func TestLimits(t *testing.T) {
	w := newWorld(t)
	parts := func(n int) string { return `"parts":[` + strings.Repeat(`{"text":"x"},`, n-1) + `{"text":"x"}]` }
	list := func(name string, n int) string {
		return fmt.Sprintf(`"message":"x",%q:[%s"x"]`, name, strings.Repeat(`"x",`, n-1))
	}
	text := func(rune string, n int) string { return `"parts":[{"text":` + quote(strings.Repeat(rune, n)) + `}]` }
	// A part's own braces and names count: {"data":"…"} and {"file":{"bytes":"…"}}.
	data := func(n int) string {
		return `"parts":[{"data":"` + strings.Repeat("d", n-len(`{"data":""}`)) + `"}]`
	}
	file := func(n int) string {
		return `"parts":[{"file":{"uri":"` + strings.Repeat("f", n-len(`{"file":{"uri":""}}`)) + `"}}]`
	}
	deep := func(n int, inside string) string {
		return fmt.Sprintf(`"parts":[{"data":%s%s%s}]`, strings.Repeat("[", n), inside, strings.Repeat("]", n))
	}
	deepObjects := func(n int) string {
		return fmt.Sprintf(`"parts":[{"data":%s1%s}]`, strings.Repeat(`{"a":`, n), strings.Repeat("}", n))
	}
	// whole is a message of n bytes as compact JSON, in parts of 200,000 and of what is left.
	whole := func(n int, and string) string {
		used := len(`{"parts":[]}`) + len(and)
		var all []string
		for left := n - used; left > 0; left = n - used {
			size := min(200_000, left-len(`{"text":""},`)-50)
			if left < 200_100 {
				size = left - len(`{"text":""}`)
				if len(all) > 0 {
					size--
				}
			}
			all = append(all, `{"text":"`+strings.Repeat("t", size)+`"}`)
			used = len(`{"parts":[]}`) + len(and) + len(strings.Join(all, ","))
		}
		return `"parts":[` + strings.Join(all, ",") + `]` + and
	}
	for _, l := range []struct {
		name      string
		at, over  string
		overField string
	}{
		{"64 parts", parts(64), parts(65), "parts"},
		{"a text of 262,144 characters", text("x", 262_144), text("x", 262_145), "parts[0].text"},
		{"a text of 262,144 characters of 3 bytes", text("語", 262_144), text("語", 262_145), "parts[0].text"},
		{"a text of 1 character", text("😀", 1), text("x", 0), "parts[0].text"},
		{"a message text of 262,144 characters", `"message":"` + strings.Repeat("é", 262_144) + `"`, `"message":"` + strings.Repeat("é", 262_145) + `"`, "message"},
		{"a message text of 1 character", `"message":"x"`, `"message":""`, "message"},
		{"a data part of 256 KiB", data(256 << 10), data(256<<10 + 1), "parts[0]"},
		{"a file part of 256 KiB", file(256 << 10), file(256<<10 + 1), "parts[0]"},
		{"a message of 1 MiB", whole(1<<20, ""), whole(1<<20+1, ""), "parts"},
		{"a message of 1 MiB, metadata included", whole(1<<20, `,"metadata":{"a":1}`), whole(1<<20+1, `,"metadata":{"a":1}`), "parts"},
		{"32 levels of arrays", deep(32, ""), deep(33, ""), "parts[0].data"},
		{"32 levels of objects", deepObjects(32), deepObjects(33), "parts[0].data"},
		{"brackets in strings are no levels", deep(32, `"[[{{\"["`), deep(32, "[]"), "parts[0].data"},
		{"32 extensions", list("extensions", 32), list("extensions", 33), "extensions"},
		{"32 reference ids", list("reference_task_ids", 32), list("reference_task_ids", 33), "reference_task_ids"},
		{"a message id of 256 characters", `"message":"x","message_id":"` + strings.Repeat("é", 256) + `"`, `"message":"x","message_id":"` + strings.Repeat("é", 257) + `"`, "message_id"},
		{"a message id of 1 character", `"message":"x","message_id":"m"`, `"message":"x","message_id":""`, "message_id"},
		{"space between tokens does not count", `"parts": [ {"data" :   [` + strings.Repeat(" ", 300_000) + `]} ]`, `"parts":[]`, "parts"},
		{"escapes that need not be do not count", `"parts":[{"data":"` + strings.Repeat(`\u0061`, 256<<10-len(`{"data":""}`)) + `"}]`, `"parts":[{}]`, "parts[0]"},
	} {
		for _, route := range []struct{ path, as, open string }{
			{"/v1/a2a/tasks", "asker", `{"target_handle":"helper",`},
			{"/v1/a2a/tasks/ID/messages", "asker", "{"},
			{"/v1/a2a/tasks/ID/reply", "helper", `{"intent":"progress",`},
		} {
			path := strings.Replace(route.path, "ID", w.sent(), 1)
			if a := w.do(request{method: "POST", path: path, as: route.as, body: route.open + l.at + "}"}); a.status >= 300 {
				t.Errorf("%s: at the limit on %s: %d %.300s", l.name, route.path, a.status, a.body)
			}
			a := w.do(request{method: "POST", path: path, as: route.as, body: route.open + l.over + "}"})
			if a.status != 400 {
				t.Errorf("%s: over the limit on %s: %d %.300s", l.name, route.path, a.status, a.body)
				continue
			}
			if p := w.problem(a); p.Errors[0].Field != l.overField {
				t.Errorf("%s: over the limit: field %q, want %q (%s)", l.name, p.Errors[0].Field, l.overField, p.Detail)
			}
		}
	}
}

func TestBodySize(t *testing.T) {
	w := newWorld(t)
	body := `{"target_handle":"helper","message":"x"}`
	for _, row := range []struct{ size, want int }{{4_000_000, 201}, {4_000_001, 413}} {
		a := w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: body + strings.Repeat(" ", row.size-len(body))})
		if a.status != row.want {
			t.Errorf("%d bytes: %d %.200s", row.size, a.status, a.body)
		}
	}
	for media, want := range map[string]int{
		"application/json": 201, "application/json; charset=utf-8": 201, "Application/JSON;charset=UTF-8": 201,
		"text/plain": 415, "": 415, "application/json; charset=latin1": 415, "application/xml": 415, "application/jsonx": 415, ";": 415,
	} {
		a := w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: body, header: map[string]string{"Content-Type": media}})
		if a.status != want {
			t.Errorf("content type %q: %d, want %d", media, a.status, want)
		}
	}
	for coding, want := range map[string]int{"identity": 201, "gzip": 415, "identity, gzip": 415, "": 415} {
		a := w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: body, header: map[string]string{"Content-Encoding": coding}})
		if a.status != want || want == 415 && !strings.Contains(w.problem(a).Detail, "Content-Encoding") {
			t.Errorf("content coding %q: %d, want %d: %s", coding, a.status, want, a.body)
		}
	}
}

// TestFullTask fills a task and a context to their limits.
func TestFullTask(t *testing.T) {
	w := newWorld(t)
	id := w.sent()
	for n := 2; n <= 500; n++ {
		w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/messages", as: "asker", body: fmt.Sprintf(`{"message":"%d"}`, n), header: map[string]string{"Prefer": "return=minimal"}}))
	}
	for _, r := range []request{
		{method: "POST", path: "/v1/a2a/tasks/" + id + "/messages", as: "asker", body: `{"message":"x"}`},
		{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", body: `{"intent":"complete","message":"x"}`},
		{method: "PATCH", path: "/v1/a2a/tasks/" + id, as: "helper", body: `{"state":"completed","result":"x"}`},
	} {
		if got := w.outcome(w.do(r)); got != "limit_reached" {
			t.Errorf("%s %s: %s", r.method, r.path, got)
		}
	}
	shown := w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "helper"}))
	messages := shown["messages"].([]any)
	last := messages[len(messages)-1].(map[string]any)["parts"].([]any)[0].(map[string]any)["text"]
	if len(messages) != 100 || last != "500" || shown["history_truncated"] != true || shown["message"] != "Refund order 4182" {
		t.Errorf("%d messages up to %v, truncated %v", len(messages), last, shown["history_truncated"])
	}
	// The whole history, page by page.
	var all []string
	for cursor := ""; ; {
		page := w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id + "/messages?limit=77" + cursor, as: "helper"}))
		for _, m := range page["items"].([]any) {
			all = append(all, m.(map[string]any)["parts"].([]any)[0].(map[string]any)["text"].(string))
		}
		next, more := page["next_cursor"].(string)
		if !more {
			break
		}
		cursor = "&cursor=" + next
	}
	if len(all) != 500 || all[0] != "Refund order 4182" || all[1] != "2" || all[499] != "500" {
		t.Errorf("a history of %d messages", len(all))
	}
	if a := w.do(request{method: "PATCH", path: "/v1/a2a/tasks/" + id, as: "helper", body: `{"state":"completed"}`}); a.status != 200 {
		t.Errorf("a full task can't be ended: %d %s", a.status, a.body)
	}

	first := w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","message":"x"}`}))
	for n := 2; n <= 100; n++ {
		from, to := "asker", "helper"
		if n%2 == 0 {
			from, to = to, from // a context is joined from either side
		}
		w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: from, body: fmt.Sprintf(`{"target_handle":%q,"message":"x","context_id":%q,"message_id":"%d"}`, to, first["context_id"], n)}))
	}
	again := request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: fmt.Sprintf(`{"target_handle":"helper","message":"x","context_id":%q}`, first["context_id"])}
	if got := w.outcome(w.do(again)); got != "limit_reached" {
		t.Errorf("the 101st task of a context: %s", got)
	}
	again.body = strings.Replace(again.body, `"message":"x"`, `"message":"x","message_id":"99"`, 1)
	if got := w.outcome(w.do(again)); got != "ok" {
		t.Errorf("a replay into a full context: %s", got)
	}
}

// TestLargestAnswers has tasks of the largest messages there may be, of characters that take more room in JSON, and in
// JSON inside of JSON.
func TestLargestAnswers(t *testing.T) {
	w := newWorld(t)
	for name, text := range map[string]string{"plain": strings.Repeat("x", 262_000), "quotes": strings.Repeat(`"`, 131_000), "control": strings.Repeat("\x01", 43_600), "wide": strings.Repeat("語", 87_000), "backslashes": strings.Repeat(`\`, 131_000), "separators": strings.Repeat("\u2028", 87_000)} {
		part := `{"text":` + quote(text) + `}`
		body := `"parts":[` + strings.Join([]string{part, part, part, part}, ",") + `]`
		for _, accept := range []string{"", "application/json"} {
			header := map[string]string{"Prefer": "return=minimal"}
			if accept != "" {
				header["Accept"] = accept
			}
			id := w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper",` + body + `}`, header: header}))["id"].(string)
			delete(header, "Prefer")
			w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", body: `{"intent":"progress",` + body + `}`, header: header}))
			whole := strings.Join([]string{text, text, text, text}, "\n")
			check := func(a reply) {
				t.Helper()
				o := w.object(a)
				messages, artifacts := o["messages"].([]any), o["artifacts"].([]any)
				newest := messages[len(messages)-1].(map[string]any)["parts"].([]any)
				if len(a.body) > 5_000_000 || o["history_truncated"] != true || len(newest) != 4 || newest[3].(map[string]any)["text"] != text || len(artifacts) != 1 {
					t.Errorf("%s, Accept: %s: %d bytes, %d messages, truncated %v", name, accept, len(a.body), len(messages), o["history_truncated"])
				}
				if clipped := o["clipped"] == true; clipped != (o["result"] != whole) || clipped != (o["message"] != whole) || clipped && accept != "" {
					t.Errorf("%s, Accept: %s: clipped %v", name, accept, clipped)
				}
			}
			check(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", body: `{"intent":"complete",` + body + `}`, header: header}))
			check(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "asker", header: header}))
			// What is left out because of the answer's size is left out of the history, too.
			short := w.sent()
			o := w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + short + "/reply", as: "helper", body: `{"intent":"complete",` + body + `}`, header: header}))
			if messages := o["messages"].([]any); (o["history_truncated"] == true) != (len(messages) < 2) {
				t.Errorf("%s, Accept: %s: %d of 2 messages, truncated %v", name, accept, len(messages), o["history_truncated"])
			}
			for _, limit := range []string{"1", "100"} {
				path := "/v1/a2a/tasks/" + id + "/messages?limit=" + limit
				page := w.do(request{method: "GET", path: path, as: "asker", header: header})
				w.object(page)
			}
			w.object(w.do(request{method: "GET", path: "/v1/identities/asker/a2a/tasks?direction=outbound", as: "asker", header: header}))
		}
	}
}
