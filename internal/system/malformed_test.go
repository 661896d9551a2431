package system

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// What is not well-formed gets a problem document, whatever it is, and leaves nothing behind.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent := newTask(t, from, to, "Untouched.")
	h := to.Handle
	for name, body := range map[string]string{
		"nothing":                       "",
		"blank":                         " \n",
		"no JSON":                       "hello",
		"half of an object":             `{"target_handle":"` + h + `","message":"x"`,
		"an array":                      `[]`,
		"null":                          `null`,
		"trailing bytes":                `{"target_handle":"` + h + `","message":"x"} x`,
		"two objects":                   `{"target_handle":"` + h + `","message":"x"}{}`,
		"a byte order mark":             "\ufeff" + `{"target_handle":"` + h + `","message":"x"}`,
		"invalid UTF-8":                 `{"target_handle":"` + h + `","message":"` + "\xff\xfe" + `"}`,
		"half of a character":           `{"target_handle":"` + h + `","message":"` + "\xf0\x9f\x98" + `"}`,
		"a surrogate in UTF-8":          `{"target_handle":"` + h + `","message":"` + "\xed\xa0\x80" + `"}`,
		"a lone surrogate":              `{"target_handle":"` + h + `","message":"\ud800"}`,
		"a lone surrogate in data":      `{"target_handle":"` + h + `","parts":[{"data":{"a":["\udc00x"]}}]}`,
		"a lone surrogate in a key":     `{"target_handle":"` + h + `","parts":[{"data":{"\ud83d":1}}]}`,
		"a raw control character":       "{\"target_handle\":\"" + h + "\",\"message\":\"a\x01b\"}",
		"a duplicate key":               `{"target_handle":"` + h + `","message":"x","message":"y"}`,
		"a duplicate key in data":       `{"target_handle":"` + h + `","parts":[{"data":{"a":1,"a":2}}]}`,
		"a duplicate key, escaped":      `{"target_handle":"` + h + `","parts":[{"data":{"a":1,"\u0061":2}}]}`,
		"an unknown field":              `{"target_handle":"` + h + `","message":"x","massage":"y"}`,
		"a field in another case":       `{"target_handle":"` + h + `","Message":"x"}`,
		"a wrong type":                  `{"target_handle":"` + h + `","message":5}`,
		"neither message nor parts":     `{"target_handle":"` + h + `"}`,
		"both message and parts":        `{"target_handle":"` + h + `","message":"x","parts":[{"text":"y"}]}`,
		"an empty message":              `{"target_handle":"` + h + `","message":""}`,
		"no parts":                      `{"target_handle":"` + h + `","parts":[]}`,
		"65 parts":                      `{"target_handle":"` + h + `","parts":[` + strings.Repeat(`{"text":"x"},`, 64) + `{"text":"x"}]}`,
		"a part of nothing":             `{"target_handle":"` + h + `","parts":[{}]}`,
		"a part of two":                 `{"target_handle":"` + h + `","parts":[{"text":"x","data":1}]}`,
		"a file of nothing":             `{"target_handle":"` + h + `","parts":[{"file":{"name":"x"}}]}`,
		"a file of two":                 `{"target_handle":"` + h + `","parts":[{"file":{"uri":"https://x.example","bytes":"eA=="}}]}`,
		"33 levels":                     `{"target_handle":"` + h + `","parts":[{"data":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}]}`,
		"a million levels":              `{"target_handle":"` + h + `","parts":[{"data":` + strings.Repeat("[", 1_000_000) + `}]}`,
		"a number that is none":         `{"target_handle":"` + h + `","parts":[{"data":01}]}`,
		"metadata that is no object":    `{"target_handle":"` + h + `","message":"x","metadata":[1]}`,
		"a message_id of 257":           `{"target_handle":"` + h + `","message":"x","message_id":"` + strings.Repeat("é", 257) + `"}`,
		"an empty message_id":           `{"target_handle":"` + h + `","message":"x","message_id":""}`,
		"a malformed context":           `{"target_handle":"` + h + `","message":"x","context_id":"x"}`,
		"two targets":                   `{"target_handle":"` + h + `","target_identity_id":"` + to.ID + `","message":"x"}`,
		"no target":                     `{"message":"x"}`,
		"a malformed handle":            `{"target_handle":"No Handle","message":"x"}`,
		"a malformed target id":         `{"target_identity_id":"7","message":"x"}`,
		"33 extensions":                 `{"target_handle":"` + h + `","message":"x","extensions":[` + strings.Repeat(`"e",`, 32) + `"e"]}`,
		"a reference that is no string": `{"target_handle":"` + h + `","message":"x","reference_task_ids":[1]}`,
	} {
		a := call(t, from.Key, "POST", "/v1/a2a/tasks", body, "Content-Type", "application/json")
		if p := a.problem(t); a.status != http.StatusBadRequest || len(p.Fields) == 0 {
			t.Errorf("%s: %d %.300s", name, a.status, a.body)
		}
	}
	for name, body := range map[string]string{
		"a reply with an unknown intent": `{"intent":"shrug","message":"x"}`,
		"a reply without an intent":      `{"message":"x"}`,
		"a reply without a message":      `{"intent":"complete"}`,
		"a reply with a malformed lease": `{"intent":"complete","message":"x","lease_id":"7"}`,
		"an empty reply":                 ``,
	} {
		a := call(t, to.Key, "POST", "/v1/a2a/tasks/"+sent.ID+"/reply", body, "Content-Type", "application/json")
		if p := a.problem(t); a.status != http.StatusBadRequest || len(p.Fields) == 0 {
			t.Errorf("%s: %d %.300s", name, a.status, a.body)
		}
	}
	for name, body := range map[string]string{
		"a state there is none": `{"state":"done"}`, "back to submitted": `{"state":"submitted"}`, "to canceled": `{"state":"canceled"}`, "nothing": `{}`,
	} {
		if a := call(t, to.Key, "PATCH", "/v1/a2a/tasks/"+sent.ID, body); a.status != http.StatusBadRequest {
			t.Errorf("set: %s: %d %.300s", name, a.status, a.body)
		}
	}
	if a := call(t, from.Key, "POST", "/v1/a2a/tasks/"+sent.ID+"/cancel", `{"reason":"x"}`); a.status != http.StatusBadRequest {
		t.Errorf("a cancel with an unknown field: %d", a.status)
	}
	if after := read(t, from, sent.ID); after.ETag != `"1"` || after.State != "submitted" {
		t.Errorf("the task has changed: %s, version %s", after.State, after.ETag)
	}
	if list := call(t, from.Key, "GET", "/v1/identities/"+from.Handle+"/a2a/sent/tasks", nil); len(jsonList(t, list)) != 1 {
		t.Errorf("sent tasks: %s", list.body)
	}
}

func TestMalformedCalls(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent := newTask(t, from, to, "Calls.")
	good := fmt.Sprintf(`{"target_handle":%q,"message":"x"}`, to.Handle)
	padding := func(n int) string {
		return good[:len(good)-1] + `,"message_id":"` + strings.Repeat("x", n-len(good)-len(`,"message_id":""`)) + `"}`
	}
	for name, c := range map[string]struct {
		method, path, body string
		headers            []string
		want               int
	}{
		"an unknown route":                 {"GET", "/v1/nothing/here", "", nil, 404},
		"another version":                  {"GET", "/v2", "", nil, 404},
		"the root, which the gateway says": {"GET", "/", "", nil, 404},
		"a wrong method":                   {"DELETE", "/v1/a2a/tasks/" + sent.ID, "", nil, 405},
		"a wrong method on a list":         {"PUT", "/v1/a2a/tasks/search", "{}", nil, 405},
		"another content type":             {"POST", "/v1/a2a/tasks", good, []string{"Content-Type", "text/plain"}, 415},
		"a form":                           {"POST", "/v1/a2a/tasks", "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		"JSON with a charset":              {"POST", "/v1/a2a/tasks", good, []string{"Content-Type", "application/json; charset=utf-8"}, 201},
		"a body over 4 MB":                 {"POST", "/v1/a2a/tasks", padding(4<<20 + 1), nil, 413},
		"a malformed id":                   {"GET", "/v1/a2a/tasks/hello", "", nil, 404},
		"an id with a slash":               {"GET", "/v1/a2a/tasks/a%2Fb", "", nil, 404},
		"an unknown target":                {"POST", "/v1/a2a/tasks", `{"target_handle":"nobody-of-this-name","message":"x"}`, nil, 404},
		"a wait that is no number":         {"GET", "/v1/a2a/tasks/" + sent.ID + "?wait=x", "", nil, 400},
		"a wait of 31":                     {"GET", "/v1/a2a/tasks/" + sent.ID + "?wait=31", "", nil, 400},
		"a negative wait":                  {"GET", "/v1/a2a/tasks/" + sent.ID + "?wait=-1", "", nil, 400},
		"an If-Match that is no ETag":      {"POST", "/v1/a2a/tasks/" + sent.ID + "/messages", `{"message":"x"}`, []string{"If-Match", "seven"}, 400},
		"a limit of 0":                     {"GET", "/v1/a2a/tasks/search?limit=0", "", nil, 400},
		"a limit of 101":                   {"GET", "/v1/a2a/tasks/search?limit=101", "", nil, 400},
		"a state there is none":            {"GET", "/v1/a2a/tasks/search?state=done", "", nil, 400},
		"a direction there is none":        {"GET", "/v1/a2a/tasks/search?direction=up", "", nil, 400},
		"a cursor of our own making":       {"GET", "/v1/a2a/tasks/search?cursor=abc", "", nil, 400},
		"sent tasks that were received":    {"GET", "/v1/identities/" + from.Handle + "/a2a/sent/tasks?direction=inbound", "", nil, 400},
		"a message page with a bad cursor": {"GET", "/v1/a2a/tasks/" + sent.ID + "/messages?cursor=abc", "", nil, 400},
	} {
		var body any
		if c.body != "" {
			body = c.body
		}
		a := call(t, from.Key, c.method, c.path, body, c.headers...)
		if a.status != c.want {
			t.Errorf("%s: %d, want %d: %.300s", name, a.status, c.want, a.body)
		}
		for header, want := range map[string]string{
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Strict-Transport-Security": "max-age=31536000",
		} {
			if got := a.header.Get(header); got != want {
				t.Errorf("%s: %s: %q, want %q", name, header, got, want)
			}
		}
		if a.status < 400 {
			continue
		}
		if p := a.problem(t); a.status == http.StatusBadRequest && len(p.Fields) == 0 {
			t.Errorf("%s: no field: %.300s", name, a.body)
		}
	}
}
