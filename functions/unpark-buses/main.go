// Command unpark-buses serves no route: each minute it sends what waits in the logs to the buses that take it again.
package main

import (
	"time"

	"baton/internal/lambdaenv"
	"baton/internal/relay"
	"baton/internal/store"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
)

func main() {
	config := lambdaenv.AWS()
	db := dynamodb.NewFromConfig(config)
	tasks := store.NewTasks(db, lambdaenv.Var("TASKS_TABLE"))
	lambda.Start(relay.NewUnparker(
		store.NewLog(db, lambdaenv.Var("EVENTS_TABLE"), tasks, time.Now),
		relay.NewBuses(eventbridge.NewFromConfig(config), lambdaenv.Var("BUS_PREFIX")),
		nil,
		store.NewDirectory(db, lambdaenv.Var("DIRECTORY_TABLE")),
	).All)
}
