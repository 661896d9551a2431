package localstack

import (
	"fmt"
	"os"
	"time"
)

// Step says on standard error what is being done, and for how long it was when it took a while.
func Step(what string, do func() error) error {
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
	if err != nil {
		fmt.Fprintln(os.Stderr, " failed")
		return err
	}
	fmt.Fprintf(os.Stderr, " %.1f s\n", time.Since(start).Seconds())
	return nil
}
