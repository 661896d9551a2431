// Command replay-events serves
//
//	POST /v1/organizations/{id}/replay
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"
	"baton/internal/lambdaenv"
	"baton/internal/relay"
	"baton/internal/store"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
)

func main() {
	db := assemble.Database()
	people := assemble.Directory(db)
	replayer := relay.NewReplayer(
		assemble.Logs(db),
		relay.NewBuses(eventbridge.NewFromConfig(lambdaenv.AWS()), lambdaenv.Var("BUS_PREFIX")),
		store.NewDirectory(db, lambdaenv.Var("DIRECTORY_TABLE")),
	)
	lambda.Start(httpapi.ReplayEvents(assemble.Edge(people, nil), people, replayer))
}
