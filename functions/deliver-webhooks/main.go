// Command deliver-webhooks serves no route: it makes the deliveries to webhooks that are in the queue.
package main

import (
	"time"

	"baton/internal/assemble"
	"baton/internal/hookqueue"
	"baton/internal/lambdaenv"
	"baton/internal/relay"
	"baton/internal/store"
	"baton/internal/webhook"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func main() {
	config, db := lambdaenv.AWS(), assemble.Database()
	directory := store.NewDirectory(db, lambdaenv.Var("DIRECTORY_TABLE"))
	deliveries := assemble.Deliveries(db)
	queue := hookqueue.New(sqs.NewFromConfig(config), lambdaenv.Var("DELIVERIES_QUEUE_URL"))
	// That a hook was disabled is told as every event is: in the log, on the bus, to the other hooks.
	teller := relay.New(
		assemble.Logs(db),
		relay.NewBuses(eventbridge.NewFromConfig(config), lambdaenv.Var("BUS_PREFIX")),
		nil, directory, webhook.NewFan(directory, directory, queue), nil,
	)
	lambda.Start(hookqueue.Handle(webhook.NewWorker(
		directory, deliveries, deliveries, queue, webhook.NewSender(assemble.Receivers(), nil), teller, time.Now,
	)))
}
