package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"baton/internal/httpapi"
)

// sample is a good body of an endpoint's route, and what its fields may be.
type sample struct {
	method, path, as string
	body             string
}

// malformed is a body that must be refused, and the field that the answer must name ("" for any).
type malformed struct{ why, body, field string }

func (w *world) samples(id string) []sample {
	parts := `"parts":[{"text":"hello","metadata":{"a":1}},{"data":{"b":[1,{"c":"d"}]}},{"file":{"uri":"https://example.com/a","name":"a","mime":"text/plain"}}],` +
		`"message_id":"m","metadata":{"e":{"f":2}},"extensions":["https://example.com/x"],"reference_task_ids":["r"]`
	return []sample{
		{"POST", "/v1/a2a/tasks", "asker", `{"target_handle":"helper",` + parts + `}`},
		{"POST", "/v1/a2a/tasks", "asker", `{"target_identity_id":"` + w.helper.ID.String() + `",` + parts + `}`},
		{"POST", "/v1/agents/helper/tasks", "asker", `{` + parts + `}`},
		{"POST", "/v1/a2a/tasks/" + id + "/messages", "asker", `{` + parts + `}`},
		{"POST", "/v1/a2a/tasks/" + id + "/reply", "helper", `{"intent":"progress",` + parts + `}`},
		{"POST", "/v1/a2a/tasks/" + id + "/cancel", "asker", `{"message_id":"m"}`},
		{"PATCH", "/v1/a2a/tasks/" + id, "helper", `{"state":"working","result":"r","message_id":"m"}`},
	}
}

// spoil makes malformed bodies of a good one: at every place whatever can be wrong there.
func spoil(body string) (bad []malformed) {
	for i := 1; i < len(body); i += 7 {
		bad = append(bad, malformed{"cut short", body[:i], ""})
	}
	for _, tail := range []string{" x", "{}", "null", ",", "\x00", "\xef\xbb\xbf", "}"} {
		bad = append(bad, malformed{"something behind", body + tail, ""})
	}
	for _, whole := range []string{"", " ", "null", "true", "1", `"x"`, "[]", "[" + body + "]", "\ufeff" + body, "{", "nul", "{'a':1}", "{\"a\":01}", "\xff\xfe{\x00"} {
		bad = append(bad, malformed{"no object", whole, ""})
	}
	var v any
	json.Unmarshal([]byte(body), &v)
	walk(v, "", func(path string, change func(raw string) string) {
		value := func(why, raw string) { bad = append(bad, malformed{why, change(raw), path}) }
		at := get(v, path)
		free := strings.Contains(path, "data") || strings.Contains(path, "metadata")
		if o, ok := at.(map[string]any); ok {
			object, _ := json.Marshal(o)
			inside := strings.TrimSuffix(string(object), "}")
			join := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
			if !free {
				bad = append(bad, malformed{"unknown field", change(inside + `,"surprise":1}`), join("surprise")})
			}
			for name := range o {
				again, _ := json.Marshal(o[name])
				bad = append(bad, malformed{"given twice", change(fmt.Sprintf(`%s,%q:%s}`, inside, name, again)), join(name)})
			}
			bad = append(bad, malformed{"a name of bad UTF-8", change(inside + ",\"\xff\":1}"), ""})
			bad = append(bad, malformed{"a name of half a surrogate pair", change(inside + `,"\ud83d":1}`), ""})
		}
		if !free {
			for _, raw := range []string{"true", "1", `"x"`, "[]", "{}", "1.5e3"} {
				if kind(raw) == kind(marshal(at)) {
					continue
				}
				value("wrong type", raw)
			}
		}
		if _, ok := at.(string); ok {
			value("bad UTF-8", "\"a\xffb\"")
			value("overlong UTF-8", "\"\xc0\xaf\"")
			value("a surrogate in UTF-8", "\"\xed\xa0\xbd\"")
			value("half a surrogate pair", `"\ud83d"`)
			value("the other half", `"\udca9 x"`)
			value("halves in the wrong order", `"\udca9\ud83d"`)
			value("a raw control character", "\"a\x01b\"")
			value("a bad escape", `"\x41"`)
		}
		value("no value", "undefined")
		value("NaN", "NaN")
		bad = append(bad, malformed{"a leading zero", change("007"), ""}) // the first 0 is a value
		value("a bare plus", "+1")
	})
	return bad
}

func kind(raw string) byte {
	switch raw[0] {
	case 't', 'f':
		return 't'
	case '"', '[', '{':
		return raw[0]
	}
	return '0'
}

func marshal(v any) string { b, _ := json.Marshal(v); return string(b) }

// walk visits every value below v with its path and a function that gives the whole body with another raw value there.
func walk(v any, path string, visit func(path string, change func(raw string) string)) {
	walkIn(v, path, func(raw string) string { return raw }, visit)
}

func walkIn(v any, path string, change func(string) string, visit func(string, func(string) string)) {
	if path != "" {
		visit(path, change)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walkIn(v[name], strings.TrimPrefix(path+"."+name, "."), func(raw string) string {
				var fields []string
				for _, other := range slices.Sorted(maps.Keys(v)) {
					value := marshal(v[other])
					if other == name {
						value = raw
					}
					fields = append(fields, fmt.Sprintf("%q:%s", other, value))
				}
				return change("{" + strings.Join(fields, ",") + "}")
			}, visit)
		}
	case []any:
		for i := range v {
			walkIn(v[i], fmt.Sprintf("%s[%d]", path, i), func(raw string) string {
				var elements []string
				for j := range v {
					value := marshal(v[j])
					if j == i {
						value = raw
					}
					elements = append(elements, value)
				}
				return change("[" + strings.Join(elements, ",") + "]")
			}, visit)
		}
	}
}

func get(v any, path string) (at any) {
	at = v
	for step := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch in := at.(type) {
		case map[string]any:
			at = in[step]
		case []any:
			var i int
			fmt.Sscan(step, &i)
			at = in[i]
		}
	}
	return at
}

func TestMalformedBodies(t *testing.T) {
	w := newWorld(t)
	id := w.sent()
	before := w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "asker"}).body
	count := 0
	for _, s := range w.samples(id) {
		for _, bad := range spoil(s.body) {
			if s.path == "/v1/a2a/tasks/"+id+"/cancel" && bad.body == "" {
				continue // a cancel needs no body
			}
			count++
			a := w.do(request{method: s.method, path: s.path, as: s.as, body: bad.body, header: map[string]string{"Content-Type": "application/json"}})
			if a.status != 400 {
				t.Errorf("%s %s: %s: %q: %d %.200s", s.method, s.path, bad.why, bad.body, a.status, a.body)
				continue
			}
			p := w.problem(a)
			if bad.field != "" && p.Errors[0].Field != bad.field {
				t.Errorf("%s %s: %s: %q: field is %q, want %q (%s)", s.method, s.path, bad.why, bad.body, p.Errors[0].Field, bad.field, p.Detail)
			}
		}
	}
	t.Logf("%d bodies", count)
	if count < 300 {
		t.Errorf("only %d malformed bodies", count)
	}
	if after := w.do(request{method: "GET", path: "/v1/a2a/tasks/" + id, as: "asker"}).body; after != before {
		t.Errorf("the task changed: %s", after)
	}
	if items := w.object(w.do(request{method: "GET", path: "/v1/a2a/tasks/search", as: "asker"}))["items"].([]any); len(items) != 1 {
		t.Errorf("%d tasks", len(items))
	}
}

// TestBodiesOfWhichNoFieldIsWrongAlone has what is JSON of the right types all the same and yet means nothing.
func TestBodiesOfWhichNoFieldIsWrongAlone(t *testing.T) {
	w := newWorld(t)
	id := w.sent()
	send := sample{"POST", "/v1/a2a/tasks", "asker", `{"target_handle":"helper"`}
	add := sample{"POST", "/v1/a2a/tasks/" + id + "/messages", "asker", `{"metadata":{}`}
	reply := sample{"POST", "/v1/a2a/tasks/" + id + "/reply", "helper", `{"intent":"progress"`}
	for _, row := range []struct {
		of            []sample
		fields, wrong string
	}{
		{[]sample{send, add, reply}, ``, "message"},
		{[]sample{send, add, reply}, `,"message":null,"parts":null`, "message"},
		{[]sample{send, add, reply}, `,"message":"x","parts":[{"text":"x"}]`, "message"},
		{[]sample{send, add, reply}, `,"parts":[{"text":"x","data":1}]`, "parts[0]"},
		{[]sample{send, add, reply}, `,"parts":[{"text":"x"},{"metadata":{}}]`, "parts[1]"},
		{[]sample{send, add, reply}, `,"parts":[{"text":"x","metadata":[]}]`, "parts[0].metadata"},
		{[]sample{send, add, reply}, `,"parts":[{"file":{}}]`, "parts[0].file"},
		{[]sample{send, add, reply}, `,"parts":[{"file":{"name":"a","mime":"text/plain"}}]`, "parts[0].file"},
		{[]sample{send, add, reply}, `,"parts":[{"file":{"uri":"https://example.com","bytes":"eA=="}}]`, "parts[0].file"},
		{[]sample{send, add, reply}, `,"parts":[{"file":{"uri":""}}]`, "parts[0].file.uri"},
		{[]sample{send, add, reply}, `,"parts":[{"file":{"bytes":"eA==","name":""}}]`, "parts[0].file.name"},
		{[]sample{send, add, reply}, `,"parts":[{"file":{"bytes":"x"}}]`, "parts[0].file.bytes"},
		{[]sample{send, add, reply}, `,"parts":[{"file":{"bytes":"eA="}}]`, "parts[0].file.bytes"},
		{[]sample{send, add, reply}, `,"parts":[{"file":{"bytes":"eB=="}}]`, "parts[0].file.bytes"}, // another x
		{[]sample{send, add, reply}, `,"message":"x","extensions":["a",""]`, "extensions[1]"},
		{[]sample{send, add, reply}, `,"message":"x","reference_task_ids":["",null]`, "reference_task_ids[0]"},
		{[]sample{send, reply}, `,"message":"x","metadata":[1]`, "metadata"},
		{[]sample{send}, `,"message":"x","target_identity_id":"` + w.helper.ID.String() + `"`, "target_handle"},
		{[]sample{send}, `,"message":"x","context_id":"x"`, "context_id"},
		{[]sample{add}, `,"message":"x","intent":"progress"`, "intent"},
		{[]sample{reply}, `,"message":"x","lease_id":"x"`, "lease_id"},
		{[]sample{{"POST", "/v1/a2a/tasks", "asker", `{"message":"x"`}}, ``, "target_handle"},
		{[]sample{{"POST", "/v1/a2a/tasks", "asker", `{"message":"x"`}}, `,"target_handle":"a b"`, "target_handle"},
		{[]sample{{"POST", "/v1/a2a/tasks", "asker", `{"message":"x"`}}, `,"target_identity_id":"helper"`, "target_identity_id"},
		{[]sample{{"POST", "/v1/agents/helper/tasks", "asker", `{"message":"x"`}}, `,"target_handle":"helper"`, "target_handle"},
		{[]sample{{"POST", reply.path, "helper", `{"message":"x"`}}, ``, "intent"},
		{[]sample{{"POST", reply.path, "helper", `{"message":"x"`}}, `,"intent":"cancel"`, "intent"},
	} {
		for _, s := range row.of {
			body := s.body + row.fields + "}"
			a := w.do(request{method: s.method, path: s.path, as: s.as, body: body})
			if a.status != 400 || w.problem(a).Errors[0].Field != row.wrong {
				t.Errorf("%s %s: %d %s, want one about %s", s.path, body, a.status, a.body, row.wrong)
			}
		}
	}
}

// TestAnAnswerNamesFiftyWrongFields has more that is wrong than an answer can hold.
func TestAnAnswerNamesFiftyWrongFields(t *testing.T) {
	w := newWorld(t)
	a := w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","message":"x","extensions":[` + strings.Repeat(`"",`, 200_000) + `""]}`})
	if p := w.problem(a); a.status != 400 || len(p.Errors) != 50 || p.Errors[49].Field != "extensions[49]" {
		t.Errorf("%d with %d errors", a.status, len(p.Errors))
	}
}

// FuzzBody throws bytes at every endpoint that takes a body: whatever comes, the answer is the task or a whole problem
// document that is not ours to blame for.
func FuzzBody(f *testing.F) {
	w := newWorld(f)
	id := w.sent()
	samples := w.samples(id)
	for i, s := range samples {
		f.Add(uint8(i), []byte(s.body))
		for _, bad := range spoil(s.body) {
			f.Add(uint8(i), []byte(bad.body))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		s := samples[int(which)%len(samples)]
		e := request{method: s.method, path: s.path, as: s.as, body: string(body), header: map[string]string{"Content-Type": "application/json"}}.event(w.key[s.as])
		for _, route := range httpapi.Routes {
			if route.Method != e.HTTPMethod || route.Path != e.Resource {
				continue
			}
			here := *w
			here.TB = t
			a := here.invoke(route.Endpoint, e)
			if a.status >= 500 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if a.status >= 400 {
				here.problem(a)
			}
		}
	})
}
