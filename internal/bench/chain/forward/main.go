// Command forward puts each record of a table's stream on a bus as it comes: the least that any such chain does.
package main

import (
	"context"
	"fmt"
	"log"

	"baton/internal/lambdaenv"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
)

func main() {
	client := eventbridge.NewFromConfig(lambdaenv.AWS())
	bus := lambdaenv.Var("BUS_NAME")
	lambda.Start(func(ctx context.Context, batch events.DynamoDBEvent) error {
		for _, r := range batch.Records {
			detail := fmt.Sprintf(`{"aggregate_id":%q}`, r.Change.Keys["p"].String())
			out, err := client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
				EventBusName: &bus, Source: aws.String("bare"), DetailType: aws.String("bare"), Detail: &detail,
			}}})
			if err != nil || out.FailedEntryCount > 0 {
				return fmt.Errorf("%v %v", out, err)
			}
		}
		log.Print("put")
		return nil
	})
}
