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
	organizations := store.NewDirectory(db, lambdaenv.Var("DIRECTORY_TABLE"))
	buses := eventbridge.NewFromConfig(config)
	lambda.Start(relay.NewUnparker(
		store.NewLog(db, lambdaenv.Var("EVENTS_TABLE"), tasks, time.Now),
		relay.NewBuses(buses, lambdaenv.Var("BUS_PREFIX")),
		relay.NewMaker(buses, organizations).Archiving(lambdaenv.IntOr("ARCHIVE_DAYS", 0)),
		organizations,
	).All)
}
