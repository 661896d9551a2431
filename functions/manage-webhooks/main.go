// Command manage-webhooks serves
//
//	POST /v1/webhooks
//	GET /v1/webhooks
//	GET /v1/webhooks/{id}
//	PATCH /v1/webhooks/{id}
//	DELETE /v1/webhooks/{id}
//	POST /v1/webhooks/{id}/rotate-secret
//	GET /v1/webhooks/{id}/deliveries
//	POST /v1/webhooks/{id}/deliveries/{delivery}/redeliver
package main

import (
	"time"

	"baton/internal/assemble"
	"baton/internal/hookqueue"
	"baton/internal/httpapi"
	"baton/internal/lambdaenv"
	"baton/internal/store"
	"baton/internal/webhook"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func main() {
	db := assemble.Database()
	lambda.Start(httpapi.ManageWebhooks(assemble.Edge(assemble.Directory(db), assemble.Cursors()), webhook.NewService(
		store.NewDirectory(db, lambdaenv.Var("DIRECTORY_TABLE")),
		assemble.Deliveries(db),
		hookqueue.New(sqs.NewFromConfig(lambdaenv.AWS()), lambdaenv.Var("DELIVERIES_QUEUE_URL")),
		assemble.Receivers(),
		time.Now,
	)))
}
