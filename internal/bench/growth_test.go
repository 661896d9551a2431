package bench

import (
	"fmt"
	"testing"

	"baton/internal/store"
	"baton/internal/task"
)

// Over 500 messages of one size the cost of a write doesn't grow, but for the few that spill what the head remembers; those
// that archive its words read the messages since the last time.
func TestFiveHundredMessages(t *testing.T) {
	w := newWorld(t)
	_, id := w.send("Count with me.", "message-0")
	short := []string{"Prefer", "return=minimal"}
	var costs []Cost
	for n := 1; n < task.MaxMessages-1; n++ {
		messageID := fmt.Sprintf("message-%d-0123456789abcdef", n)
		var c Cost
		if n%2 == 1 {
			c = w.reply(id, "progress", fmt.Sprintf("This is number %d.", n), messageID, short...)
		} else {
			c = w.add(id, fmt.Sprintf("This is number %d.", n), messageID, short...)
		}
		costs = append(costs, c)
	}
	const archives = 12 // write units from which a write archives words
	sum, most, reads, dearest := 0.0, 0.0, 0.0, 0.0
	for _, c := range costs {
		sum += c.WriteUnits
		most, dearest = max(most, c.WriteUnits), max(dearest, c.ReadUnits)
		if c.WriteUnits < archives {
			reads = max(reads, c.ReadUnits)
		}
	}
	mean := func(costs []Cost) (m float64) {
		for _, c := range costs {
			m += c.WriteUnits / float64(len(costs))
		}
		return m
	}
	first, last := mean(costs[:50]), mean(costs[len(costs)-50:])
	t.Logf("write units: mean %.2f, most %.0f, first 50 %.2f, last 50 %.2f; read units at most %.1f, to archive %.1f",
		sum/float64(len(costs)), most, first, last, reads, dearest)
	const oneSpill = (16 - 8) / 50.0 // where among 50 writes the spills fall is chance
	if m := sum / float64(len(costs)); m > 9 || most > 16 || last > first+oneSpill || reads > 2 || dearest > 10 {
		t.Errorf("write units: mean %.2f, most %.0f, first 50 %.2f, last 50 %.2f; read units at most %.1f, to archive %.1f", m, most, first, last, reads, dearest)
	}
}

// What is done to a long task takes what it takes to a short one, but for the messages that the answer carries.
func TestLongTasks(t *testing.T) {
	w := newWorld(t)
	short := []string{"Prefer", "return=minimal"}
	for _, n := range []int{1, 10, 100, 490} {
		_, id := w.send("How long will it be?", "")
		for i := 1; i < n; i++ {
			if i%2 == 1 {
				w.reply(id, "progress", fmt.Sprintf("This is number %d.", i), "", short...)
			} else {
				w.add(id, fmt.Sprintf("This is number %d.", i), "", short...)
			}
		}
		note := func(name string, c, budget Cost) {
			report.Growth[name] = append(report.Growth[name], Growth{Messages: n, Cost: c})
			if !c.within(budget) {
				t.Errorf("%s of %d messages takes %+v, more than %+v", name, n, c, budget)
			}
		}
		// 100 messages of this length are some 30 KB, and a read unit is 4 KB.
		carried := 1 + float64(min(n, 100))/10
		note("read", w.read(id), Cost{ReadUnits: carried, RoundTrips: 2})
		note("add", w.add(id, "In between.", ""), Cost{WriteUnits: 8, ReadUnits: carried, RoundTrips: 3})
		note("reply", w.reply(id, "progress", "In between.", ""), Cost{WriteUnits: 8, ReadUnits: carried, RoundTrips: 3})
		note("reply, minimal", w.reply(id, "progress", "In between.", "", short...), Cost{WriteUnits: 8, ReadUnits: 2, RoundTrips: 2})
		note("cancel", w.cancel(id), Cost{WriteUnits: 8, ReadUnits: carried, RoundTrips: 3})
	}
}

// The first page of a list takes the same however many tasks the agent has. That of a search for what no task has ends when
// it took what a page may, with windows of the index read side by side.
func TestLists(t *testing.T) {
	w := newWorld(t)
	w.patient = true
	sizes := []int{200, 1000}
	if thorough() {
		sizes = []int{1000, 10_000, 100_000}
	}
	words := newWriter(1)
	have := 0
	var first Cost
	for _, size := range sizes {
		w.seed(size-have, 2, words)
		have = size
		look := &looking{next: w.config.HTTPClient, read: map[string]bool{}}
		w.wire(look)
		w.list("?limit=1") // the key is known then
		list := w.list("?limit=50&state=completed")
		look.rounds = 0
		search, _ := w.page("?limit=50&q=nowhere")
		report.Growth["list"] = append(report.Growth["list"], Growth{Tasks: size, Cost: list})
		report.Growth["search"] = append(report.Growth["search"], Growth{Tasks: size, Cost: search, Rounds: look.rounds})
		t.Logf("%d tasks: %+v for a list, %+v for a search, %d round trips one after the other", size, list, search, look.rounds)
		if first == (Cost{}) {
			first = list
		}
		if !list.within(first) {
			t.Errorf("a page of %d tasks takes %+v, of %d %+v", size, list, sizes[0], first)
		}
		// A last round of windows reads up to a MB each.
		if search.ReadUnits > store.PageUnits+8*128 || look.rounds > 40 || len(look.read) > size/50 {
			t.Errorf("the first page of a search over %d tasks takes %+v in %d rounds, and reads the messages of %d", size, search, look.rounds, len(look.read))
		}
	}
}
