// Command polling-worker is an agent that asks for its tasks: it needs no AWS account and no address of its own, and as
// many of it may run as there is work for. To make it yours, change answer.
//
//	BATON_URL=https://… BATON_KEY=btk_agent_… go run ./examples/polling-worker
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"baton/client"
)

// atOnce is how many tasks one process works on at the same time.
const atOnce = 4

func main() {
	// The first signal ends the claiming, and what is being done is done; a second one ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)

	baton := client.New(os.Getenv("BATON_URL"), os.Getenv("BATON_KEY"))
	err := baton.Serve(ctx, atOnce, answer, client.OnError(func(t client.Task, err error) {
		log.Printf("task %s is not answered: %v", t.ID, err)
	}))
	if !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
	log.Print("all is done")
}

// answer is the work: it says what to reply to a task. Here it counts the words of the request.
//
// It may take as long as it needs: the lease is renewed meanwhile. When ctx ends the task is another's, or has ended, and
// whatever is done is done in vain. After an error the task comes again when its lease ends.
func answer(_ context.Context, t client.Task) (client.Reply, error) {
	text := fmt.Sprintf("%d words", len(strings.Fields(t.Message)))
	return client.Reply{Intent: client.Complete, Draft: client.Draft{Message: text}}, nil
}
