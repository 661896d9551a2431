package localstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// Command is all of the main function of a program of this repository: it does run, in the checkout that it is started in,
// for as long as most allows, 0 for ever, and ends the process. What went wrong is on standard error, and the status is 1;
// after an interrupt it is 130, and standard error says during what, and that the command may be repeated. A command of
// Test's that failed said why by itself, and its status is passed on.
func Command(most time.Duration, run func(context.Context, Tree) error) {
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := interrupted, context.CancelFunc(func() {})
	if most > 0 {
		ctx, cancel = context.WithTimeout(interrupted, most)
	}
	defer cancel()
	tree, err := FindTree()
	if err == nil {
		err = run(ctx, tree)
	}
	var failed testFailed
	switch {
	case err == nil:
	case interrupted.Err() != nil:
		text := "interrupted"
		if during := interruption(""); errors.As(err, &during) {
			text = during.Error()
		}
		fmt.Fprintln(os.Stderr, text+"; nothing is left half done: the same command may be run again")
		os.Exit(128 + int(syscall.SIGINT))
	case errors.As(err, &failed):
		os.Exit(max(failed.ExitCode(), 1))
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// testFailed is the failure of a command that Test ran.
type testFailed struct{ *exec.ExitError }

// interruption is the step during which an interrupt came.
type interruption string

func (i interruption) Error() string { return "interrupted during: " + string(i) }
