package search

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"baton/internal/search/searchtest"
)

func scalarsOf(raw []byte) (all []string) {
	eachScalar(raw, func(s string) bool {
		all = append(all, s)
		return true
	})
	return all
}

func TestDataIsReadInDocumentOrder(t *testing.T) {
	for raw, want := range map[string][]string{
		`{"orderId":4182}`:                          {"orderId", "4182"},
		` [ 4182 , 4183 ] `:                         {"4182", "4183"},
		`{"b":{"a":[1.50,true]},"a":null}`:          {"b", "a", "1.50", "true", "a", "null"},
		`"a\"b\\c\/d\n\tü\ud83d\ude42\ud83d\u00e9"`: {"a\"b\\c/d\n\tü🙂\ufffdé"},
		`["",-1E+3,{}]`:                             {"", "-1E+3"},
		`["open`:                                    {"open"},
		`["open\`:                                   {`open\`},
		`"\u12" "\x" "\ud83d\u0041"`:                {`\u12`, "x", "\ufffdA"},
		``:                                          nil,
	} {
		if got := scalarsOf([]byte(raw)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}

func TestDataIsReadAsItWasMade(t *testing.T) {
	g := searchtest.New(3)
	for range 20_000 {
		p := g.Part()
		if p.Data == "" {
			continue
		}
		if got := scalarsOf([]byte(p.Data)); !slices.Equal(got, p.Scalars) {
			t.Fatalf("%s: got %q, want %q", p.Data, got, p.Scalars)
		}
	}
}

// FuzzData compares with encoding/json where it is JSON, and only wants an end where it isn't.
func FuzzData(f *testing.F) {
	for _, s := range []string{`{"orderId":4182}`, `[4182,"\ud83d\ude42",true]`, `["\ud83d\u00`, `{"a`, "\"\xff\"", `"\`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := scalarsOf(raw)
		if !json.Valid(raw) {
			return
		}
		var want []string
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch v := token.(type) {
			case string:
				want = append(want, v)
			case json.Number:
				want = append(want, v.String())
			case bool:
				want = append(want, map[bool]string{true: "true", false: "false"}[v])
			case nil:
				want = append(want, "null")
			}
		}
		for i := range got {
			got[i] = string(bytes.ToValidUTF8([]byte(got[i]), []byte("\ufffd")))
		}
		for i := range want {
			want[i] = string(bytes.ToValidUTF8([]byte(want[i]), []byte("\ufffd")))
		}
		if bytes.Contains(raw, []byte{0xff}) || !bytes.Equal(raw, bytes.ToValidUTF8(raw, []byte("?"))) {
			return // encoding/json replaces invalid UTF-8 byte by byte; only that it ends matters
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q: got %q, want %q", raw, got, want)
		}
	})
}
