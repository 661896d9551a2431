// Command queues looks at the queues of what failed for good, and sends it on its way again: all of them, or the one that is
// named.
//
//	go run ./internal/queues/cmd -stack baton-prod look
//	go run ./internal/queues/cmd -stack baton-prod redrive failed-deliveries
//
// It works with the credentials, region and endpoint of the environment. What is told twice by a redrive is logged once,
// and a delivery that was made meanwhile is not made again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"baton/internal/hookqueue"
	"baton/internal/relay"
	"baton/internal/store"
	"baton/internal/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func main() {
	stack := flag.String("stack", "baton", "the CloudFormation `stack` of the installation")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *stack, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "queues:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stack string, args []string) error {
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	at, err := outputs(ctx, cloudformation.NewFromConfig(settings), stack)
	if err != nil {
		return err
	}
	return do(ctx, failed(settings, at), args, os.Stdout)
}

// failures is one queue of what failed.
type failures struct {
	name    string // as its resource in the template, FailedChangesQueue, in kebab case without the end
	look    func(ctx context.Context, show func(string)) error
	redrive func(ctx context.Context, show func(string)) error
}

// do does what the arguments say: look or redrive, and the name of a queue or none for all.
func do(ctx context.Context, all []failures, args []string, out io.Writer) error {
	usage := errors.New("say look or redrive, and perhaps one of")
	for _, f := range all {
		usage = fmt.Errorf("%w %s", usage, f.name)
	}
	if len(args) == 0 || len(args) > 2 {
		return usage
	}
	var problems []error
	found := false
	for _, f := range all {
		if len(args) == 2 && args[1] != f.name {
			continue
		}
		found = true
		act := f.look
		switch args[0] {
		case "look":
		case "redrive":
			act = f.redrive
		default:
			return usage
		}
		n := 0
		err := act(ctx, func(line string) {
			n++
			fmt.Fprintf(out, "%s: %s\n", f.name, line)
		})
		fmt.Fprintf(out, "%s: %d\n", f.name, n)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", f.name, err))
		}
	}
	if !found {
		return usage
	}
	return errors.Join(problems...)
}

// failed are the queues of what failed, of a stack with these outputs.
func failed(settings aws.Config, at map[string]string) []failures {
	db, client := dynamodb.NewFromConfig(settings), sqs.NewFromConfig(settings)
	tasks, people := store.NewTasks(db, at["TasksTable"]), store.NewDirectory(db, at["DirectoryTable"])
	deliveries := hookqueue.New(client, at["DeliveriesQueueUrl"])
	changes := relay.NewFailureQueue(client, at["FailedChangesQueueUrl"])
	r := relay.New(
		store.NewLog(db, at["EventsTable"], tasks, time.Now),
		relay.NewBuses(eventbridge.NewFromConfig(settings), at["BusPrefix"]),
		tasks, people, webhook.NewFan(people, people, deliveries), changes,
	)
	tries := hookqueue.NewFailures(client, at["FailedDeliveriesQueueUrl"], deliveries)
	return []failures{
		{
			name: "failed-changes",
			look: func(ctx context.Context, show func(string)) error {
				return changes.Look(ctx, func(f relay.Failure) { show(f.String()) })
			},
			redrive: func(ctx context.Context, show func(string)) error {
				return changes.Redrive(ctx, func(ctx context.Context, f relay.Failure) error {
					show(f.String())
					return r.RedriveFailure(ctx, f, relay.ChangesIn(db, at["TasksTable"]))
				})
			},
		},
		{name: "failed-deliveries", look: tries.Look, redrive: tries.Redrive},
	}
}

// outputs are what the stack says of where things are.
func outputs(ctx context.Context, client *cloudformation.Client, stack string) (map[string]string, error) {
	out, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
	if err != nil {
		return nil, err
	}
	at := map[string]string{}
	for _, o := range out.Stacks[0].Outputs {
		at[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	return at, nil
}
