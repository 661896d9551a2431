package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"baton/internal/metrics"
)

var out = flag.String("out", "", "measure thoroughly, print a table and write the report to this file")

// thorough says whether this is make bench, and not a check of budgets.
func thorough() bool { return *out != "" }

// Report is .local/bench.json.
type Report struct {
	Operations map[string]Operation `json:"operations"`
	Growth     map[string][]Growth  `json:"growth"`
	Search     []Search             `json:"search"`
	Startup    map[string]Startup   `json:"startup"`
	Events     Events               `json:"events"`
	Million    Million              `json:"million_tasks"`
}

// Cost is what a request takes of DynamoDB.
type Cost struct {
	WriteUnits float64 `json:"write_units"`
	ReadUnits  float64 `json:"read_units"`
	RoundTrips int     `json:"round_trips"`
}

// Operation is what a request takes, uncontended, of a short task and with the key known.
type Operation struct {
	Cost
	CPU    float64 `json:"cpu_us"` // with a DynamoDB that answers at once
	Allocs float64 `json:"allocs"`
}

// Growth is what a request takes where there is more: messages on the task, or tasks of the agent.
type Growth struct {
	Messages int `json:"messages,omitempty"`
	Tasks    int `json:"tasks,omitempty"`
	Cost
	// Rounds are how many round trips come one after the other, of a search: the others are side by side.
	Rounds int `json:"rounds,omitempty"`
}

// Startup is from process start to the first answer, and until ready for the first event, as medians. The first answer
// has the calls to AWS of the sample event in it, which hello has none of: of a relay four.
type Startup struct {
	Milliseconds float64 `json:"ms"`
	Ratio        float64 `json:"ratio_to_hello"`
	Bytes        int64   `json:"bytes"`
	Ready        float64 `json:"ready_ms"`
	ReadyRatio   float64 `json:"ready_ratio_to_hello"`
}

var report = struct {
	sync.Mutex
	Report
	hello, helloReady float64
}{Report: Report{Operations: map[string]Operation{}, Growth: map[string][]Growth{}, Startup: map[string]Startup{}}}

func TestMain(m *testing.M) {
	flag.Parse()
	metrics.SetOutput(io.Discard)
	code := m.Run()
	if thorough() {
		if err := tell(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func tell() error {
	report.Million = bill(measured.script)
	text, err := json.MarshalIndent(report.Report, "", "  ")
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...any) {
		for _, c := range cells {
			if f, ok := c.(float64); ok {
				c = strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0")
			}
			fmt.Fprintf(w, "%v\t", c)
		}
		fmt.Fprintln(w)
	}
	row("operation", "write units", "read units", "round trips", "cpu µs", "allocs")
	for _, name := range operations {
		o := report.Operations[name]
		row(name, o.WriteUnits, o.ReadUnits, o.RoundTrips, o.CPU, o.Allocs)
	}
	row()
	row("growth", "messages", "tasks", "write units", "read units", "round trips", "one after the other")
	for _, name := range slices.Sorted(maps.Keys(report.Growth)) {
		for _, g := range report.Growth[name] {
			row(name, g.Messages, g.Tasks, g.WriteUnits, g.ReadUnits, g.RoundTrips, g.Rounds)
		}
	}
	row()
	row("search", "messages a task", "read units per 1,000 tasks", "archives read, %", "read for nothing, %")
	for _, s := range report.Search {
		row("", s.Messages, s.PerThousand, s.Archives, fmt.Sprintf("%.2f", s.Read))
	}
	row()
	row("events", "write units each", "relayed a second", "read units a minute waited")
	row("", fmt.Sprintf("%.2f", report.Events.WriteUnits), report.Events.PerSecond, report.Events.ReadUnitsWaited)
	row("", "commit to worker, ms", "bare chain, ms", "ratio")
	row("", report.Events.Worker.Milliseconds, report.Events.Worker.Bare, fmt.Sprintf("%.2f", report.Events.Worker.Ratio))
	row()
	row("start-up", "ready ms", "to hello", "answered ms", "to hello", "MB")
	row("(hello)", fmt.Sprintf("%.2f", report.helloReady), "1.00", fmt.Sprintf("%.2f", report.hello), "1.00", "")
	for _, name := range slices.Sorted(maps.Keys(report.Startup)) {
		s := report.Startup[name]
		row(name, fmt.Sprintf("%.2f", s.Ready), fmt.Sprintf("%.2f", s.ReadyRatio), fmt.Sprintf("%.2f", s.Milliseconds), fmt.Sprintf("%.2f", s.Ratio), float64(s.Bytes)/1e6)
	}
	w.Flush()
	report.Million.print(os.Stdout)
	return os.WriteFile(*out, append(text, '\n'), 0o644)
}
