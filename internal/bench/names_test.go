package bench

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestReportHasTheAgreedNames holds what other programs read of .local/bench.json against contract section 8.
func TestReportHasTheAgreedNames(t *testing.T) {
	text, err := json.Marshal(Report{
		Operations: map[string]Operation{"send": {}},
		Growth:     map[string][]Growth{"list": {{Tasks: 1, Messages: 1}}},
		Startup:    map[string]Startup{"send-task": {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"operations":{"send":{"write_units":0,"read_units":0,"round_trips":0,"cpu_us":0,"allocs":0}}`,
		`"growth":{"list":[{"messages":1,"tasks":1,"write_units":0,"read_units":0,"round_trips":0}]}`,
		`"startup":{"send-task":{"ms":0,"ratio_to_hello":0,"bytes":0,`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if got := strings.Join(operations, " "); got != "send reply add cancel read list search" {
		t.Errorf("operations are %s", got)
	}
}
