// Command queues looks at the queues of what failed for good, and sends it on its way again.
//
//	go run ./internal/queues/cmd -stack baton-prod look
//	go run ./internal/queues/cmd -stack baton-prod redrive
//
// It works with the credentials, region and endpoint of the environment. What is told twice by a redrive is logged once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
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
	if err := run(ctx, *stack, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "queues:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stack, command string) error {
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	at, err := outputs(ctx, cloudformation.NewFromConfig(settings), stack)
	if err != nil {
		return err
	}
	db := dynamodb.NewFromConfig(settings)
	queues := sqs.NewFromConfig(settings)
	queue := relay.NewFailureQueue(queues, at["FailedChangesQueueUrl"])
	switch command {
	case "look":
		return queue.Look(ctx, func(f relay.Failure) { fmt.Println(f) })
	case "redrive":
		tasks := store.NewTasks(db, at["TasksTable"])
		directory := store.NewDirectory(db, at["DirectoryTable"])
		r := relay.New(
			store.NewLog(db, at["EventsTable"], tasks, time.Now),
			relay.NewBuses(eventbridge.NewFromConfig(settings), at["BusPrefix"]),
			tasks,
			directory,
			webhook.NewFan(directory, directory, hookqueue.New(queues, at["DeliveriesQueueUrl"])),
			queue,
		)
		return queue.Redrive(ctx, func(ctx context.Context, f relay.Failure) error {
			fmt.Println(f)
			return r.RedriveFailure(ctx, f, relay.ChangesIn(db, at["TasksTable"]))
		})
	}
	return errors.New("say look or redrive")
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
