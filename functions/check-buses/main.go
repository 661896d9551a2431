// Command check-buses serves no route: each minute it looks at the buses of the organizations whose log moved.
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
	lambda.Start(relay.NewChecker(
		store.NewLog(dynamodb.NewFromConfig(config), lambdaenv.Var("EVENTS_TABLE"), nil, time.Now),
		relay.NewBuses(eventbridge.NewFromConfig(config), lambdaenv.Var("BUS_PREFIX")),
		time.Now,
	).All)
}
