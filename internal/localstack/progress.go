package localstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Step says on standard error what is being done, and how long it took. What goes wrong after an interrupt, the end of ctx,
// is of that: the error says so and what it was, and do's own is lost.
func Step(ctx context.Context, what string, do func() error) error {
	fmt.Fprintf(os.Stderr, "· %s …", what)
	start := time.Now()
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprint(os.Stderr, ".")
			case <-stop:
				return
			}
		}
	}()
	err := do()
	close(stop)
	<-stopped
	switch {
	case err != nil && wasInterrupted(ctx):
		fmt.Fprintln(os.Stderr, " interrupted")
		return interruption(what)
	case err != nil:
		fmt.Fprintln(os.Stderr, " failed")
		return err
	}
	fmt.Fprintf(os.Stderr, " %.1f s\n", time.Since(start).Seconds())
	return nil
}

// wasInterrupted waits a moment for the word: an interrupt at the keyboard is for the programs that are run, too, and they may
// have ended of it before it is told here.
func wasInterrupted(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return errors.Is(ctx.Err(), context.Canceled)
	case <-time.After(100 * time.Millisecond):
		return false
	}
}
