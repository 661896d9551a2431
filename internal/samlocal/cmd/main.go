// Command cmd is what make sam-local runs, on the application that BATON_TEST_STACK names. With the argument "probe" it
// only says, by its status and why on standard error, whether this machine can run a function as sam does.
package main

import (
	"context"
	"os"
	"time"

	"baton/internal/localstack"
	"baton/internal/samlocal"
)

func main() {
	localstack.Command(20*time.Minute, func(ctx context.Context, tree localstack.Tree) error {
		if len(os.Args) == 2 && os.Args[1] == "probe" {
			return samlocal.Probe(ctx, tree)
		}
		stack, err := localstack.ReadStack(os.Getenv("BATON_TEST_STACK"))
		if err != nil {
			return err
		}
		return samlocal.Run(ctx, tree, stack, os.Stdout)
	})
}
