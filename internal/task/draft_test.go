package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func textPart(s string) Part { return Part{Text: &s} }

func nested(levels int) []byte {
	return []byte(strings.Repeat("[", levels) + strings.Repeat("]", levels))
}

// Every limit at its edge, and one over.
func TestDraftLimits(t *testing.T) {
	ids := func(n int) []string { return make([]string, n) }
	parts := func(n int) []Part {
		ps := make([]Part, n)
		for i := range ps {
			ps[i] = textPart("x")
		}
		return ps
	}
	one := parts(1)
	dataOf := func(size int) Part {
		return Part{Data: []byte(`"` + strings.Repeat("x", size-len(`{"data":""}`)) + `"`)}
	}
	fileOf := func(size int) Part {
		return Part{File: &File{Bytes: strings.Repeat("A", size-len(`{"file":{"bytes":""}}`))}}
	}
	messageOf := func(size int) Draft {
		const each = 250 << 10
		d := Draft{Parts: []Part{dataOf(each), dataOf(each), dataOf(each), dataOf(each), textPart("")}}
		d.Parts[4] = textPart(strings.Repeat("x", size-d.size()))
		return d
	}
	for _, row := range []struct {
		what  string
		draft Draft
		field string // "" when it is allowed
	}{
		{"no part", Draft{}, "parts"},
		{"64 parts", Draft{Parts: parts(64)}, ""},
		{"65 parts", Draft{Parts: parts(65)}, "parts"},
		{"an empty text", Draft{Parts: []Part{textPart("")}}, "parts[0].text"},
		{"the longest text", Draft{Parts: []Part{textPart(strings.Repeat("語", MaxText))}}, ""},
		{"a longer text", Draft{Parts: []Part{textPart(strings.Repeat("x", MaxText+1))}}, "parts[0].text"},
		{"the largest data", Draft{Parts: []Part{dataOf(MaxPart)}}, ""},
		{"larger data", Draft{Parts: []Part{dataOf(MaxPart + 1)}}, "parts[0]"},
		{"the largest file", Draft{Parts: []Part{fileOf(MaxPart)}}, ""},
		{"a larger file", Draft{Parts: []Part{fileOf(MaxPart + 1)}}, "parts[0]"},
		{"the largest message", messageOf(MaxMessage), ""},
		{"a larger message", messageOf(MaxMessage + 1), "parts"},
		{"metadata counts", func() Draft {
			d := messageOf(MaxMessage)
			d.Metadata = []byte("{}")
			return d
		}(), "parts"},
		{"32 levels of data", Draft{Parts: []Part{{Data: nested(32)}}}, ""},
		{"33 levels of data", Draft{Parts: []Part{{Data: nested(33)}}}, "parts[0].data"},
		{"33 brackets in a string", Draft{Parts: []Part{{Data: []byte(`"\"` + strings.Repeat("[", 33) + `"`)}}}, ""},
		{"33 levels of metadata", Draft{Parts: one, Metadata: nested(33)}, "metadata"},
		{"33 levels of a part's metadata", Draft{Parts: []Part{{Text: new("x"), Metadata: nested(33)}}}, "parts[0].metadata"},
		{"32 extensions", Draft{Parts: one, Extensions: ids(32)}, ""},
		{"33 extensions", Draft{Parts: one, Extensions: ids(33)}, "extensions"},
		{"32 references", Draft{Parts: one, ReferenceTaskIDs: ids(32)}, ""},
		{"33 references", Draft{Parts: one, ReferenceTaskIDs: ids(33)}, "reference_task_ids"},
		{"a message id of 256 characters", Draft{Parts: one, MessageID: strings.Repeat("語", 256)}, ""},
		{"a message id of 257 characters", Draft{Parts: one, MessageID: strings.Repeat("x", 257)}, "message_id"},
		{"a part that is nothing", Draft{Parts: []Part{{}}}, "parts[0]"},
		{"a part that is two things", Draft{Parts: []Part{{Text: new("x"), Data: []byte("1")}}}, "parts[0]"},
		{"a file without content", Draft{Parts: []Part{{File: &File{Name: "x"}}}}, "parts[0].file"},
		{"a file with both", Draft{Parts: []Part{{File: &File{URI: "x:y", Bytes: "AA=="}}}}, "parts[0].file"},
	} {
		t.Run(row.what, func(t *testing.T) {
			err := row.draft.Check()
			var bad Invalid
			switch {
			case row.field == "" && err != nil:
				t.Error(err)
			case row.field != "" && (!errors.As(err, &bad) || bad[0].Field != row.field):
				t.Errorf("got %v, want a fault of %s", err, row.field)
			}
		})
	}
}

// The size that limits count is the length of compact JSON.
func TestDraftSize(t *testing.T) {
	awkward := "a\"\\\b\f\n\r\t\x00\x1f/<>&\u2028é語😀"
	type file struct {
		URI  string `json:"uri,omitempty"`
		Name string `json:"name,omitempty"`
	}
	type part struct {
		Text *string         `json:"text,omitempty"`
		Data json.RawMessage `json:"data,omitempty"`
		File *file           `json:"file,omitempty"`
	}
	for i, d := range []Draft{
		{Parts: []Part{textPart("x")}},
		{Parts: []Part{textPart(awkward), {Data: []byte(`{"a":[1,2.50]}`)}, {File: &File{URI: "x:y", Name: awkward}}}},
		{MessageID: awkward, Parts: []Part{textPart("x")}, Metadata: []byte(`{"k":null}`), Extensions: []string{"a", awkward}},
	} {
		wire := struct {
			MessageID  string          `json:"message_id,omitempty"`
			Parts      []part          `json:"parts"`
			Metadata   json.RawMessage `json:"metadata,omitempty"`
			Extensions []string        `json:"extensions,omitempty"`
		}{d.MessageID, nil, d.Metadata, d.Extensions}
		for _, p := range d.Parts {
			w := part{Text: p.Text, Data: p.Data}
			if p.File != nil {
				w.File = &file{p.File.URI, p.File.Name}
			}
			wire.Parts = append(wire.Parts, w)
		}
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(wire); err != nil {
			t.Fatal(err)
		}
		// encoding/json escapes U+2028 always, RFC 8259 never demands it.
		want := len(bytes.ReplaceAll(bytes.TrimSpace(out.Bytes()), []byte(`\u2028`), []byte("\u2028")))
		if got := d.size(); got != want {
			t.Errorf("draft %d: %d bytes, want %d", i, got, want)
		}
	}
}

func TestInvalidNamesEveryField(t *testing.T) {
	err := Draft{Parts: []Part{{}, textPart("x"), {}}, Extensions: make([]string, 33)}.Check()
	if got := fmt.Sprint(err); !strings.Contains(got, "parts[0]") || !strings.Contains(got, "parts[2]") ||
		!strings.Contains(got, "extensions") || strings.Contains(got, "parts[1]") {
		t.Error(got)
	}
}
