package faults

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"baton/internal/store"
	"baton/internal/traffic"
)

var (
	talks = flag.Int("talks", 10, "how many conversations are held during each fault")
	out   = flag.String("out", "", "a file for the table, besides the test's log")
)

// TestFaults holds conversations during each fault, takes the fault away, lets things settle, ends what is open, and looks
// whether every invariant held.
func TestFaults(t *testing.T) {
	rows := make([]string, len(cases))
	t.Run("each", func(t *testing.T) {
		for n, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				rows[n] = c.row(t)
			})
		}
	})
	text := table(rows)
	t.Log("\n" + text)
	if *out != "" {
		if err := os.WriteFile(*out, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// row is a line of the table. What is broken fails the test, and so does a fault that was not met.
func (c faultCase) row(t *testing.T) string {
	began := time.Now()
	found, counts, hit := c.run(t)
	row := c.name
	for _, i := range traffic.Invariants {
		verdict := "held"
		if n := len(found[i]); n > 0 {
			verdict = fmt.Sprintf("BROKEN %d", n)
		}
		for _, f := range found[i][:min(len(found[i]), 10)] {
			t.Errorf("%s: %s", i, f)
		}
		row += "\t" + verdict
	}
	if hit.total() == 0 {
		t.Error("the fault was never met")
	}
	for _, must := range c.must {
		if hit.n[must] == 0 {
			t.Errorf("the fault never met %s", must)
		}
	}
	writes, refused, unanswered := sum(counts)
	return fmt.Sprintf("%s\t%.0f s\t%d\t%d\t%d\t%s", row, time.Since(began).Seconds(), writes, refused, unanswered, hit)
}

func table(rows []string) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "fault")
	for _, i := range traffic.Invariants {
		fmt.Fprintf(w, "\t%s", i)
	}
	fmt.Fprintln(w, "\ttook\twrites\trefused\tunanswered\tmet")
	for _, row := range rows {
		fmt.Fprintln(w, row)
	}
	w.Flush()
	return text.String()
}

// run is one fault from end to end.
func (c faultCase) run(t *testing.T) (traffic.Findings, map[string]int, hits) {
	s, hit := newStage(t, c), newHits()
	ctx := t.Context()
	world := s.traffic.World
	// Tasks of an agent that is deleted in the middle of it.
	for _, a := range world.Agents()[:2] {
		s.traffic.Send(ctx, a, s.leaver)
		s.traffic.Send(ctx, s.leaver, a)
	}
	if c.begin != nil {
		c.begin(s, hit)
	}
	stop := make(chan struct{})
	wait := s.background.run(stop)
	s.traffic.Talk(ctx, *talks/2, 6)
	for range 5 {
		if err := world.Organizations[1].Admin.DeleteIdentity(ctx, s.leaver.ID); err == nil {
			break
		}
	}
	middle := make(chan struct{})
	go func() {
		defer close(middle)
		if c.during != nil {
			c.during(s, hit)
		}
	}()
	s.traffic.Talk(ctx, *talks-*talks/2, 6)
	<-middle
	time.Sleep(500 * time.Millisecond)
	close(stop)
	wait()

	if c.lasting {
		s.settle()
	}
	s.faults.Reset()
	s.callTimeout.Store(int64(callTimeout))
	s.background.kill, s.background.twice, s.gateway.kill = nil, false, nil
	s.receivers.recover()
	if c.after != nil {
		c.after(s, hit)
	}
	s.settle()
	s.clock.forward(time.Hour) // every lease has run out
	stuck := s.traffic.Finish(ctx)
	s.settle()
	s.hear()
	found := s.check()
	found[traffic.Free] = append(found[traffic.Free], stuck...)
	return found, s.traffic.Ledger.Counts(), hit
}

// check looks at all there is.
func (s *stage) check() traffic.Findings {
	s.Helper()
	found, err := traffic.Check(s.Context(), s.traffic.World, s.traffic.Ledger, traffic.Evidence{
		Tasks: store.NewTasks(s.db, s.tables.Tasks), Log: s.log(s.db, time.Now), Told: s.told,
	})
	s.must(err)
	if n := s.failures(); n != "0" {
		found[traffic.Free] = append(found[traffic.Free], n+" changes in the failure queue")
	}
	return found
}

func sum(counts map[string]int) (writes, refused, unanswered int) {
	for name, n := range counts {
		what, how, _ := strings.Cut(name, " ")
		switch {
		case how == "unanswered":
			unanswered += n
		case how == "refused":
			refused += n
		case slices.Contains([]string{"send", "reply", "add", "cancel", "claim", "renew"}, what):
			writes += n
		}
	}
	return writes, refused, unanswered
}
