// Command relay-events serves no route: it takes the changes of tasks from the table's stream to those who must know.
package main

import (
	"time"

	"baton/internal/hookqueue"
	"baton/internal/lambdaenv"
	"baton/internal/relay"
	"baton/internal/store"
	"baton/internal/webhook"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func main() {
	config := lambdaenv.AWS()
	db := dynamodb.NewFromConfig(config)
	queues := sqs.NewFromConfig(config)
	tasks := store.NewTasks(db, lambdaenv.Var("TASKS_TABLE"))
	directory := store.NewDirectory(db, lambdaenv.Var("DIRECTORY_TABLE"))
	lambda.Start(relay.New(
		store.NewLog(db, lambdaenv.Var("EVENTS_TABLE"), tasks, time.Now),
		relay.NewBuses(eventbridge.NewFromConfig(config), lambdaenv.Var("BUS_PREFIX")),
		tasks,
		directory,
		webhook.NewFan(directory, directory, hookqueue.New(queues, lambdaenv.Var("DELIVERIES_QUEUE_URL"))),
		relay.NewFailureQueue(queues, lambdaenv.Var("FAILED_CHANGES_QUEUE_URL")),
	).Records)
}
