// Command cmd is what make restore-rehearsal runs, on the application that BATON_TEST_STACK names.
package main

import (
	"context"
	"os"
	"time"

	"baton/internal/localstack"
	"baton/internal/rehearsal"
)

func main() {
	localstack.Command(10*time.Minute, func(ctx context.Context, tree localstack.Tree) error {
		stack, err := localstack.ReadStack(os.Getenv("BATON_TEST_STACK"))
		if err != nil {
			return err
		}
		return rehearsal.Run(ctx, tree, stack, os.Stdout)
	})
}
