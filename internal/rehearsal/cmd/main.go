// Command cmd is what make restore-rehearsal runs, on the application that BATON_TEST_STACK names.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"baton/internal/localstack"
	"baton/internal/rehearsal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	tree, err := localstack.FindTree()
	if err != nil {
		return err
	}
	stack, err := localstack.ReadStack(os.Getenv("BATON_TEST_STACK"))
	if err != nil {
		return err
	}
	return rehearsal.Run(ctx, tree, stack, os.Stdout)
}
