// Command sweep-webhooks serves no route: each minute it queues the deliveries whose long pause ends soon.
package main

import (
	"time"

	"baton/internal/assemble"
	"baton/internal/hookqueue"
	"baton/internal/lambdaenv"
	"baton/internal/webhook"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func main() {
	lambda.Start(webhook.NewSweeper(
		assemble.Deliveries(assemble.Database()),
		hookqueue.New(sqs.NewFromConfig(lambdaenv.AWS()), lambdaenv.Var("DELIVERIES_QUEUE_URL")),
		time.Now,
	).Sweep)
}
