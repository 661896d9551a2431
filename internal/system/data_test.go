package system

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// What goes in comes out: data digit for digit and in key order, text character for character.
func TestDataAndTextComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	data := []string{
		`null`, `true`, `0`, `-0`, `1.0`, `1.50`, `1E400`, `-1e-7`, `12345678901234567890.123456789012345678901234567890`,
		`""`, `[]`, `{}`, `[[[]]]`, `{"z":1,"a":{"y":2.00,"b":null},"m":[3,2,1]}`, `{"":0," ":1}`,
		`"<b>&amp;</b>"`, `"\"\\/\b\f\n\r\t\u0000\u001f"`, "\"\u2028\u2029\u007f\ufeff\uffff\"", `"👩‍👩‍👧‍👦🇩🇪é"`, `{"𝒳":"𐐷"}`,
		strings.Repeat("[", 32) + strings.Repeat("]", 32),
	}
	texts := []string{
		"plain", "line\nline\ttab", "\u0000\u0001\u001f\u007f\u0085", "\u2028\u2029", "é e\u0301 \ufeff", "𝒳𐐷👩‍👩‍👧‍👦", "<script>&\"'\\/</script>",
		"שלום עולם", "日本語", "\ufffd \uffff \U0010ffff",
	}
	var parts []string
	for _, d := range data {
		parts = append(parts, `{"data":`+d+`}`)
	}
	for _, s := range texts {
		quoted, _ := json.Marshal(s)
		parts = append(parts, `{"text":`+string(quoted)+`}`)
	}
	body := fmt.Sprintf(`{"target_handle":%q,"parts":[%s],"metadata":{"b":1.0,"a":"\u2028"}}`, to.Handle, strings.Join(parts, ", "))
	sent := call(t, from.Key, "POST", "/v1/a2a/tasks", body)
	if sent.status != http.StatusCreated {
		t.Fatalf("%d %s", sent.status, sent.body)
	}
	first, _ := sent.task(t)
	page := call(t, to.Key, "GET", "/v1/identities/"+to.Handle+"/a2a/tasks/"+first.ID+"/messages", nil)
	for name, raw := range map[string][]byte{
		"the answer": sent.body,
		"a read":     call(t, to.Key, "GET", "/v1/a2a/tasks/"+first.ID, nil).body,
		"the page":   bytes.Replace(page.body, []byte(`"items"`), []byte(`"messages"`), 1),
	} {
		var got struct {
			Messages []struct {
				Parts []struct {
					Data json.RawMessage
					Text *string
				}
				Metadata json.RawMessage
			}
		}
		if err := json.Unmarshal(raw, &got); err != nil || len(got.Messages) != 1 || len(got.Messages[0].Parts) != len(parts) {
			t.Errorf("%s: %v: %.500s", name, err, raw)
			continue
		}
		for i, p := range got.Messages[0].Parts {
			if i < len(data) {
				if !same(string(p.Data), data[i]) {
					t.Errorf("%s: data %s came back as %s", name, data[i], p.Data)
				}
			} else if want := texts[i-len(data)]; p.Text == nil || *p.Text != want {
				t.Errorf("%s: text %q came back as %v", name, want, p.Text)
			}
		}
		if !same(string(got.Messages[0].Metadata), `{"b":1.0,"a":"\u2028"}`) {
			t.Errorf("%s: metadata %s", name, got.Messages[0].Metadata)
		}
	}
}

// same says whether two JSON texts have the same tokens, numbers as written and keys in order.
func same(a, b string) bool {
	read := func(s string) (tokens []any) {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		for {
			token, err := d.Token()
			if err != nil {
				return tokens
			}
			tokens = append(tokens, token)
		}
	}
	x, y := read(a), read(b)
	return len(x) > 0 && slices.Equal(x, y)
}

// The largest message there may be, and the history of several.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	large := strings.Repeat("a", 262_000)
	part := map[string]any{"text": large}
	send := func(parts ...any) answer {
		return call(t, from.Key, "POST", "/v1/a2a/tasks", map[string]any{"target_handle": to.Handle, "parts": parts})
	}
	sent := send(part, part, part, part)
	if sent.status != http.StatusCreated {
		t.Fatalf("four parts of 262,000 characters: %d %.300s", sent.status, sent.body)
	}
	first, _ := sent.task(t)
	if got := first.Messages[0].Text(); got != strings.Join([]string{large, large, large, large}, "\n") || first.Message != got {
		t.Errorf("%d characters came back, %d as the task's message", len(got), len(first.Message))
	}
	if a := send(part, part, part, part, map[string]any{"text": "and one more, past one MiB"}, part); a.status != http.StatusBadRequest {
		t.Errorf("over one MiB: %d %.300s", a.status, a.body)
	}
	if a := send(map[string]any{"text": strings.Repeat("a", 262_144)}); a.status != http.StatusCreated {
		t.Errorf("a text of 262,144 characters: %d %.300s", a.status, a.body)
	}
	if a := send(map[string]any{"text": strings.Repeat("a", 262_145)}); a.status != http.StatusBadRequest || len(a.problem(t).Fields) == 0 {
		t.Errorf("a text of 262,145 characters: %d %.300s", a.status, a.body)
	}
	for i := range 3 {
		a := call(t, to.Key, "POST", "/v1/a2a/tasks/"+first.ID+"/reply", map[string]any{"intent": "progress", "parts": []any{part, part, map[string]any{"data": i}}})
		if a.status != http.StatusOK {
			t.Fatalf("reply %d: %d %.300s", i, a.status, a.body)
		}
	}
	after := read(t, from, first.ID)
	if !after.HistoryTruncated || len(after.Messages) != 2 || string(after.Messages[1].Parts[2].Data) != "2" { // of half a MiB each
		t.Errorf("a read carries %d messages, truncated %v", len(after.Messages), after.HistoryTruncated)
	}
	if all := history(t, from, first.ID); len(all) != 4 || all[0].Text() != first.Message {
		t.Errorf("the history has %d messages", len(all))
	}
}
