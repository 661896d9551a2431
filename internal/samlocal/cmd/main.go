// Command cmd is what make sam-local runs, on the application that BATON_TEST_STACK names. With the argument "probe" it
// only says, by its status and why on standard error, whether this machine can run a function as sam does.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"baton/internal/localstack"
	"baton/internal/samlocal"
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
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	tree, err := localstack.FindTree()
	if err != nil {
		return err
	}
	if len(os.Args) == 2 && os.Args[1] == "probe" {
		return samlocal.Probe(ctx, tree)
	}
	stack, err := localstack.ReadStack(os.Getenv("BATON_TEST_STACK"))
	if err != nil {
		return err
	}
	return samlocal.Run(ctx, tree, stack, os.Stdout)
}
