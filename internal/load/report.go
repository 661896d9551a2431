package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"baton/internal/traffic"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// figures are the measurements of a run.
type figures struct {
	all        vegeta.Metrics
	operations map[string]*vegeta.Metrics
}

func (f *figures) add(r *vegeta.Result) {
	f.all.Add(r)
	operation := r.Headers.Get(operationHeader)
	if operation == "" {
		return // no answer at all; the mix has counted it
	}
	if f.operations[operation] == nil {
		f.operations[operation] = &vegeta.Metrics{}
	}
	f.operations[operation].Add(r)
}

// report prints what a run was like. Times are told as multiples of the median read of a task: they say something on another
// machine too.
func (f *figures) report(w io.Writer, counts map[string]int, costs map[string]cost) {
	f.all.Close()
	for _, m := range f.operations {
		m.Close()
	}
	unit := time.Duration(1)
	if read := f.operations["read"]; read != nil {
		unit = max(read.Latencies.P50, 1)
	}
	fmt.Fprintf(w, "%d calls in %.0f s, %.1f a second; a median read of a task (= 1) took %.0f ms\n\n",
		f.all.Requests, f.all.Duration.Seconds(), f.all.Rate, unit.Seconds()*1000)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "operation\tcalls\tof all\trefused\tunanswered\tp50\tp95\tp99\t")
	for _, name := range order(f.operations) {
		m := f.operations[name]
		ratio := func(d time.Duration) float64 { return float64(d) / float64(unit) }
		fmt.Fprintf(t, "%s\t%d\t%.0f %%\t%d\t%d\t%.2f\t%.2f\t%.2f\t\n", name, m.Requests, 100*float64(m.Requests)/float64(f.all.Requests),
			counts[name+" refused"], counts[name+" unanswered"], ratio(m.Latencies.P50), ratio(m.Latencies.P95), ratio(m.Latencies.P99))
	}
	t.Flush()
	if len(costs) == 0 {
		return
	}
	fmt.Fprintln(w, "\nwhat an accepted call consumed, as the functions log it; a key that an instance has not seen yet included")
	fmt.Fprintln(t, "endpoint\tcalls\twrite units\tread units\tround trips\t")
	for _, name := range order(costs) {
		c := costs[name]
		n := float64(c.calls)
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.2f\t%.2f\t\n", name, c.calls, c.write/n, c.read/n, c.trips/n)
	}
	t.Flush()
}

// verdict prints whether the invariants held; broken ones are an error.
func verdict(w io.Writer, found traffic.Findings) (err error) {
	fmt.Fprintln(w)
	for _, i := range traffic.Invariants {
		if n := len(found[i]); n > 0 {
			err = fmt.Errorf("an invariant is broken")
			fmt.Fprintf(w, "%-15s BROKEN %d\n", i, n)
			for _, text := range found[i][:min(n, 10)] {
				fmt.Fprintf(w, "    %s\n", text)
			}
			continue
		}
		fmt.Fprintf(w, "%-15s held\n", i)
	}
	return err
}

func order[T any](m map[string]T) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
