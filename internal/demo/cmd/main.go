// Command cmd is what make run does once the stack is up: the main job, shown. Its argument is another stack's file than
// that of make up.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"baton/client"
	"baton/internal/demo"
	"baton/internal/localstack"
)

func main() {
	localstack.Command(3*time.Minute, run)
}

func run(ctx context.Context, tree localstack.Tree) error {
	file := tree.Path(".local", "stack.json")
	if len(os.Args) == 2 {
		file = os.Args[1]
	}
	stack, err := localstack.ReadStack(file)
	if err != nil {
		return fmt.Errorf("%w (make up writes it)", err)
	}
	var w demo.World
	err = localstack.Step(ctx, "make two organizations and three agents", func() (err error) {
		w, err = demo.Make(ctx, stack)
		return err
	})
	if err != nil {
		return err
	}
	err = localstack.Step(ctx, "deploy the worker, with a rule on its organization's bus", func() error {
		return demo.DeployWorker(ctx, tree, stack, w.Bank, w.Worker)
	})
	if err != nil {
		return err
	}
	fmt.Println()
	t, err := demo.Talk(ctx, w, os.Stdout)
	if err != nil {
		return err
	}
	if t.State != client.Completed {
		return errors.New("the task should have been completed")
	}
	if len(os.Args) == 1 { // the other's stack may be gone when this is read
		demo.GoOn(w, stack.OperatorKey, t, os.Stdout)
	}
	return nil
}
