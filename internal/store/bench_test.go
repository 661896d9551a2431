package store

import (
	"strings"
	"testing"

	"baton/internal/task"
)

// longChange has a message of a few KB, as most long ones have.
func longChange() task.Change {
	h := longestHead("é", 0)
	text := strings.Repeat("The refund of order 4182 was booked on the customer's card; it takes three days. ", 40)
	return task.Change{
		Task: h.ID, Context: h.Context, Number: 2, Cause: task.CauseReply, State: task.Working, At: now(),
		Caller: h.Caller, Target: h.Target, Result: task.NewClip(text), ResultChange: 2,
		Message: &task.Message{ID: task.NewID(), Role: task.ByAgent, CreatedAt: now(), Parts: []task.Part{{Text: &text}}},
	}
}

func BenchmarkChangeItems(b *testing.B) {
	c := longChange()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := changeItems(c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseChange(b *testing.B) {
	items, err := changeItems(longChange())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		c, err := parseChangeHead(items[0])
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.change(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHead(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		h := longestHead("é", 5)
		h.fit()
		if _, err := parseTask(h.item()); err != nil {
			b.Fatal(err)
		}
	}
}
