package localaws

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestReadUnits(t *testing.T) {
	item := func(bytes int) string { // key k, and so many bytes in all
		return `{"k":{"S":"` + strings.Repeat("x", bytes-1) + `"}}`
	}
	for name, c := range map[string]struct {
		operation, request, answer string
		want                       float64
	}{
		"exactly a block":                   {"GetItem", `{"ConsistentRead":true}`, `{"Item":` + item(4096) + `}`, 1},
		"a byte more":                       {"GetItem", `{"ConsistentRead":true}`, `{"Item":` + item(4097) + `}`, 2},
		"no item":                           {"GetItem", `{}`, `{}`, 0.5},
		"a query adds up before it rounds":  {"Query", `{"ConsistentRead":true}`, `{"Items":[` + item(2000) + `,` + item(2000) + `]}`, 1},
		"a query of an index":               {"Query", `{}`, `{"Items":[` + item(4000) + `,` + item(4000) + `,` + item(4000) + `]}`, 1.5},
		"a batch rounds each, missing ones": {"BatchGetItem", `{"RequestItems":{"t":{"Keys":[{},{},{}]}}}`, `{"Responses":{"t":[` + item(10) + `,` + item(5000) + `]}}`, 2},
	} {
		if got, ok := readUnits(c.operation, []byte(c.request), []byte(c.answer)); !ok || got != c.want {
			t.Errorf("%s: %v units, want %v", name, got, c.want)
		}
	}
	if _, ok := readUnits("Query", []byte(`{"Select":"COUNT"}`), []byte(`{"Count":3}`)); ok {
		t.Error("a count tells nothing of what it read")
	}
}

func TestItemSize(t *testing.T) {
	for text, want := range map[string]int{
		`{"S":"é𝒳"}`: 6, `{"N":"-1234.50"}`: 4, `{"N":"0"}`: 1, `{"B":"AAEC"}`: 3, `{"B":"AAE="}`: 2, `{"BOOL":true}`: 1, `{"NULL":true}`: 1,
		`{"BS":["AAE=","AAEC"]}`: 5, `{"L":[{"S":"ab"},{"BOOL":true}]}`: 8, `{"M":{"ab":{"S":"c"}}}`: 7,
	} {
		var v value
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if got := v.size(); got != want {
			t.Errorf("%s has %d bytes, want %d", text, got, want)
		}
	}
}
