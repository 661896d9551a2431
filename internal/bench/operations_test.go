package bench

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// operations in the order of the table.
var operations = []string{"send", "reply", "add", "cancel", "read", "list", "search"}

// budgets are the most that an operation may take, uncontended, of a short task and with the key known.
var budgets = map[string]Cost{
	"send":   {WriteUnits: 8, ReadUnits: 1, RoundTrips: 2},
	"reply":  {WriteUnits: 8, ReadUnits: 1, RoundTrips: 2},
	"add":    {WriteUnits: 8, ReadUnits: 1, RoundTrips: 2},
	"cancel": {WriteUnits: 8, ReadUnits: 1, RoundTrips: 2},
	"read":   {ReadUnits: 1, RoundTrips: 1},
}

func (c Cost) within(budget Cost) bool {
	return c.WriteUnits <= budget.WriteUnits && c.ReadUnits <= budget.ReadUnits && c.RoundTrips <= budget.RoundTrips
}

func TestOperations(t *testing.T) {
	w := newWorld(t)
	const id = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
	_, open := w.send("Refund order 4182, the customer sent it back.", id)
	_, answered := w.send("Refund order 4183, the customer sent it back.", "")
	_, gone := w.send("Refund order 4184, the customer sent it back.", "")
	steps := map[string]func() Cost{
		"send":   func() Cost { c, _ := w.send("Refund order 4185, the customer sent it back.", ""); return c },
		"reply":  func() Cost { return w.reply(answered, "progress", "I am looking at it.", "") },
		"add":    func() Cost { return w.add(open, "It was 42.00 EUR.", "") },
		"cancel": func() Cost { return w.cancel(gone) },
		"read":   func() Cost { return w.read(open) },
		"list":   func() Cost { return w.list("?limit=50&state=submitted") },
		"search": func() Cost { return w.list("?limit=50&q=4182") },
	}
	if names := slices.Sorted(maps.Keys(steps)); !slices.Equal(names, slices.Sorted(slices.Values(operations))) {
		t.Fatalf("measured are %v", names)
	}
	repeat := 20
	if thorough() {
		repeat = 1000
	}
	for _, name := range operations {
		noted := &tape{next: w.config.HTTPClient, answers: map[question][]byte{}}
		w.wire(noted)
		w.read(open)             // the key of the requester
		w.list("?state=working") // and of the worker
		w.warm(name)
		clear(noted.answers)
		cost := steps[name]()
		noted.playing = true
		cpu, allocs := perRequest(repeat, func() { steps[name]() })
		report.Operations[name] = Operation{cost, cpu, allocs}
		if budget, there := budgets[name]; there && !cost.within(budget) {
			t.Errorf("%s takes %+v, more than %+v", name, cost, budget)
		}
	}
}

// warm makes a send find its worker's organization and the like known, as any but the first of an instance does.
func (w *world) warm(name string) {
	if name == "send" {
		w.send("Warm up.", "")
	}
}

// perRequest is the processor time and the number of allocations of one run, on average.
func perRequest(n int, run func()) (microseconds, allocs float64) {
	run()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := processorTime()
	for range n {
		run()
	}
	took := processorTime() - began
	runtime.ReadMemStats(&after)
	return took / float64(n), float64(after.Mallocs-before.Mallocs) / float64(n)
}

// processorTime is what this process took so far, in microseconds.
func processorTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec)*1e6 + float64(u.Utime.Usec+u.Stime.Usec)
}

// Eight units hold in any script, with the longest handles and the longest clips.
func TestEightWriteUnitsInAnyScript(t *testing.T) {
	w := newWorld(t)
	for name, letter := range map[string]string{
		"Latin": "a", "Latin with accents": "é", "Greek": "ω", "Hebrew": "ש", "Thai": "ก", "Chinese": "漢", "emoji": "😀", "astral letters": "𝒳",
		"quotes": `"`, "control characters": "\u0001", "words": "a word ", "joined emoji": "👩‍👩‍👧‍👦",
	} {
		text := strings.Repeat(letter, 400/len([]rune(letter)))
		messageID := func(n int) string { return fmt.Sprint(strings.Repeat("𝒳", 220), n) }
		sent, id := w.send(text, messageID(0)+name)
		for what, cost := range map[string]Cost{
			"send": sent, "progress": w.reply(id, "progress", text, messageID(1)), "question": w.reply(id, "ask_caller", text, messageID(2)),
			"answer": w.add(id, text, messageID(3)), "completion": w.reply(id, "complete", text, messageID(4)),
		} {
			if cost.WriteUnits > 8 || cost.RoundTrips > 2 {
				t.Errorf("%s: %s takes %+v", name, what, cost)
			}
		}
		_, second := w.send(text, "")
		if cost := w.cancel(second); cost.WriteUnits > 8 {
			t.Errorf("%s: cancel takes %+v", name, cost)
		}
	}
}
