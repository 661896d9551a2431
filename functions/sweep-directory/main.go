// Command sweep-directory serves no route: each minute it does what follows from deletions, suspensions and purges, and tries
// to make the buses for which there was no room.
package main

import (
	"time"

	"baton/internal/directory"
	"baton/internal/lambdaenv"
	"baton/internal/relay"
	"baton/internal/store"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
)

func main() {
	config := lambdaenv.AWS()
	db := dynamodb.NewFromConfig(config)
	organizations := store.NewDirectory(db, lambdaenv.Var("DIRECTORY_TABLE"))
	tasks := store.NewTasks(db, lambdaenv.Var("TASKS_TABLE"))
	buses := eventbridge.NewFromConfig(config)
	log := store.NewLog(db, lambdaenv.Var("EVENTS_TABLE"), tasks, time.Now)
	lambda.Start(directory.NewSweeper(
		organizations,
		task.NewService(tasks, time.Now),
		relay.NewMaker(buses, organizations).Archiving(lambdaenv.IntOr("ARCHIVE_DAYS", 0)),
		time.Now,
	).Erasing(directory.Erasers{
		Task:       tasks.Erase,
		Log:        log.Erase,
		Deliveries: store.NewDeliveries(db, lambdaenv.Var("EVENTS_TABLE"), log, time.Now).EraseOf(organizations),
		Bus:        relay.DeleteBus(buses),
	}).Round)
}
