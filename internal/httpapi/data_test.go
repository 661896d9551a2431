package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestDataRoundTrips sends values and looks for the same bytes in what comes back.
func TestDataRoundTrips(t *testing.T) {
	w := newWorld(t)
	for _, row := range []struct{ sent, want string }{
		{`{"z":1,"a":2,"m":{"b":1,"a":[]}}`, ""},
		{`123456789012345678901234567890.000100`, ""},
		{`1e400`, ""},
		{`-0`, ""},
		{`1E+2`, ""},
		{`0.1e-7`, ""},
		{`9007199254740993`, ""},
		{`null`, ""},
		{`[null,true,false,"",{},[]]`, ""},
		{`"a\"\\\n\t\u0001"`, ""},
		{`"\u00e9\u2028\ud83d\ude00\/"`, "\"é\u2028😀/\""},
		{"\"\u2028\u2029<>&\u007f\ufeff\"", ""},
		{`"\u0000"`, ""},
		{"{ \"a\" : [ 1 ,\n2 ] }", `{"a":[1,2]}`},
		{`{"\ud83d\ude00":1,"":2}`, `{"😀":1,"":2}`},
	} {
		if row.want == "" {
			row.want = row.sent
		}
		a := w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","parts":[{"data":` + row.sent + `,"metadata":{"m":` + row.sent + `}}],"metadata":{"m":` + row.sent + `}}`})
		id := strings.Split(a.body, `"`)[3] // not every number fits into Go's
		again := w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "helper"})
		want := `"parts":[{"data":` + row.want + `,"metadata":{"m":` + row.want + `}}],"metadata":{"m":` + row.want + `}`
		for _, body := range []string{a.body, again.body} {
			if !strings.Contains(body, want) {
				t.Errorf("%s came back as %s", row.sent, body)
			}
		}
	}
}

func TestTextRoundTrips(t *testing.T) {
	w := newWorld(t)
	texts := []string{
		"\u2028\u2029", "<script>&amp;</script>", "😀👩‍👩‍👧‍👦🇩🇪", "𝕳𐍈\U0010ffff", "a\u0301\u200d\u202e", "\x00\x01\x1f\x7f", "\ufeffx", "\ufffd", `\"/`, " \r\n\t", "e\u0301 é",
	}
	for _, text := range texts {
		a := w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","message":` + quote(text) + `}`})
		task := w.object(a)
		shown := w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + task["id"].(string), as: "helper"}))
		items := w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/search?limit=1", as: "asker"}))["items"].([]any)
		for what, got := range map[string]any{
			"message":         task["message"],
			"message, read":   shown["message"],
			"message, listed": items[0].(map[string]any)["message"],
			"part":            shown["messages"].([]any)[0].(map[string]any)["parts"].([]any)[0].(map[string]any)["text"],
		} {
			if got != text {
				t.Errorf("%s: %q came back as %q", what, text, got)
			}
		}
		for _, unneeded := range []string{`\u003c`, `\u2028`, `\/`, `\u00e9`} {
			if strings.Contains(a.body, unneeded) {
				t.Errorf("%q is written with %s: %s", text, unneeded, a.body)
			}
		}
	}
}

// TestClips has texts at the edge of what a list shows: 200 characters and 256 bytes.
func TestClips(t *testing.T) {
	w := newWorld(t)
	for _, row := range []struct {
		text string
		want string
	}{
		{strings.Repeat("x", 200), ""},
		{strings.Repeat("x", 201), strings.Repeat("x", 200)},
		{strings.Repeat("é", 128), ""},
		{strings.Repeat("é", 129), strings.Repeat("é", 128)},
		{strings.Repeat("語", 86), strings.Repeat("語", 85)},
		{strings.Repeat("😀", 64), ""},
		{strings.Repeat("😀", 65), strings.Repeat("😀", 64)},
		{"x" + strings.Repeat("😀", 64), "x" + strings.Repeat("😀", 63)},
	} {
		id := w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","message":` + quote(row.text) + `}`}))["id"].(string)
		w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", body: `{"intent":"ask_caller","message":` + quote(row.text) + `}`}))
		want, clipped := row.text, any(nil)
		if row.want != "" {
			want, clipped = row.want, true
		}
		item := w.object(w.do(request{method: "GET", path: "/v1/identities/helper/a2a/tasks?limit=1", as: "helper"}))["items"].([]any)[0].(map[string]any)
		for _, field := range []string{"message", "result", "question"} {
			if item[field] != want {
				t.Errorf("%s of %d bytes is %q", field, len(row.text), item[field])
			}
		}
		if item["clipped"] != clipped {
			t.Errorf("%d bytes: clipped is %v, want %v", len(row.text), item["clipped"], clipped)
		}
		whole := w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "helper"}))
		for _, field := range []string{"message", "result", "question"} {
			if whole[field] != row.text {
				t.Errorf("%s of %d bytes is not whole: %q", field, len(row.text), whole[field])
			}
		}
	}
}

// TestEitherTextIsClipped has one long text beside a short one.
func TestEitherTextIsClipped(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("x", 201)
	for _, row := range []struct {
		message, result string
		want            any
	}{{"short", "short", nil}, {long, "short", true}, {"short", long, true}} {
		id := w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","message":` + quote(row.message) + `}`}))["id"].(string)
		w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", body: `{"intent":"complete","message":` + quote(row.result) + `}`}))
		item := w.object(w.do(request{method: "GET", path: "/v1/identities/helper/a2a/tasks?limit=1", as: "helper"}))["items"].([]any)[0].(map[string]any)
		if item["clipped"] != row.want {
			t.Errorf("a request of %d and a result of %d characters: clipped %v", len(row.message), len(row.result), item["clipped"])
		}
	}
}

// TestShortcuts follows message, result, question, error and artifacts through a conversation.
func TestShortcuts(t *testing.T) {
	w := newWorld(t)
	id := w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","parts":[{"text":"a"},{"data":1},{"text":"b"}]}`}))["id"].(string)
	other := w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","parts":[{"data":1}]}`}))["id"].(string)
	show := func(id string) string {
		v := w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "asker"}))
		item := w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/search?context_id=" + v["context_id"].(string), as: "asker"}))["items"].([]any)[0].(map[string]any)
		for _, field := range []string{"state", "message", "result", "question", "error", "completed_at", "updated_at"} {
			if item[field] != v[field] {
				t.Errorf("%s: listed %v, read %v", field, item[field], v[field])
			}
		}
		texts, _ := json.Marshal([]any{v["state"], v["message"], v["result"], v["question"], v["error"], len(v["artifacts"].([]any)), v["completed_at"] != nil})
		return string(texts)
	}
	reply := func(id, body string) {
		t.Helper()
		w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/reply", as: "helper", body: body}))
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("sent", show(id), `["submitted","a\nb",null,null,null,0,false]`)
	check("sent without text", show(other), `["submitted",null,null,null,null,0,false]`)
	reply(id, `{"intent":"progress","message":"on it"}`)
	check("progress", show(id), `["working","a\nb","on it",null,null,0,false]`)
	reply(id, `{"intent":"progress","parts":[{"data":1}]}`)
	check("a reply without text", show(id), `["working","a\nb","on it",null,null,0,false]`)
	reply(id, `{"intent":"ask_caller","parts":[{"data":1}]}`)
	check("a question without text", show(id), `["input_required","a\nb","on it",null,null,0,false]`)
	reply(id, `{"intent":"ask_caller","message":"which?"}`)
	check("a question", show(id), `["input_required","a\nb","which?","which?",null,0,false]`)
	w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks/" + id + "/messages", as: "asker", body: `{"message":"that"}`}))
	check("an answer", show(id), `["working","a\nb","which?",null,null,0,false]`)
	reply(id, `{"intent":"complete","parts":[{"data":{"ok":true}}]}`)
	check("completed without text", show(id), `["completed","a\nb","which?",null,null,1,true]`)
	reply(other, `{"intent":"reject","message":"no"}`)
	check("rejected", show(other), `["rejected",null,"no",null,"no",0,true]`)
	third := w.sent()
	w.object(w.do(request{method: "PATCH", path: "/v1/a2a/tasks/" + third, as: "helper", body: `{"state":"failed"}`}))
	check("failed without a word", show(third), `["failed","Refund order 4182",null,null,null,0,true]`)
	fourth := w.sent()
	w.object(w.do(request{method: "PATCH", path: "/v1/a2a/tasks/" + fourth, as: "helper", body: `{"result":"half"}`}))
	check("a result alone", show(fourth), `["submitted","Refund order 4182","half",null,null,0,false]`)
	w.object(w.do(request{method: "PATCH", path: "/v1/a2a/tasks/" + fourth, as: "helper", body: `{"state":"completed"}`}))
	check("then completed", show(fourth), `["completed","Refund order 4182","half",null,null,0,true]`)
}
