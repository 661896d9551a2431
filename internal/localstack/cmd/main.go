// Command cmd is what the Makefile calls: see usage.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"baton/internal/localstack"
)

const usage = `usage:
  up                 start the local AWS if it doesn't run, build and deploy the application
  up-wrapped         up for the application as infra wrapped it into template.local.json, beside the other
  down               stop the local AWS
  setup TOOL         make the Python environment of ministack or sam, print its folder of programs
  test COMMAND …     run a command against an application deployed for it alone, which BATON_TEST_STACK
                     (a stack file) and BATON_TEST_ENDPOINT (the local AWS) name
  test-wrapped COMMAND …   test with the application as infra wrapped it into template.local.json`

func main() {
	localstack.Command(0, func(ctx context.Context, tree localstack.Tree) error { return do(ctx, tree, os.Args[1:]) })
}

func do(ctx context.Context, tree localstack.Tree, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "up":
		stack, err := tree.Up(ctx)
		if err == nil {
			fmt.Printf("up: %s (.local/stack.json has the rest)\n", stack.APIURL)
		}
		return err
	case len(args) == 1 && args[0] == "up-wrapped":
		stack, err := tree.UpWrapped(ctx)
		if err == nil {
			fmt.Printf("up: %s (.local/wrapped/stack.json has the rest)\n", stack.APIURL)
		}
		return err
	case len(args) == 1 && args[0] == "down":
		err := tree.Down()
		if err == nil {
			fmt.Println("down; make up starts it anew, and empty")
		}
		return err
	case len(args) == 2 && args[0] == "setup":
		bin, err := tree.Setup(ctx, args[1])
		if err == nil {
			fmt.Println(bin)
		}
		return err
	case len(args) >= 2 && args[0] == "test":
		return tree.Test(ctx, localstack.Baton, args[1], args[2:]...)
	case len(args) >= 2 && args[0] == "test-wrapped":
		return tree.Test(ctx, localstack.Wrapped, args[1], args[2:]...)
	}
	return errors.New(usage)
}
