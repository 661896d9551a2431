// Command worker is an agent as a Lambda function in an AWS account of one's own; docs/workers.md says how it is deployed.
// To make it yours, change answer.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"baton/client"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

func main() {
	key, err := agentKey(context.Background(), os.Getenv("AGENT_KEY_SECRET_ARN"))
	if err != nil {
		log.Fatal(err)
	}
	w := worker{client.New(os.Getenv("BATON_URL"), key)}
	lambda.Start(w.handle)
}

func agentKey(ctx context.Context, arn string) (string, error) {
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return "", err
	}
	out, err := secretsmanager.NewFromConfig(settings).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &arn})
	if err != nil {
		return "", err
	}
	return *out.SecretString, nil
}

// answer is the work: it says what to reply to a task as it stands. Here it counts the words of the request.
func answer(t client.Task) client.Reply {
	text := fmt.Sprintf("%d words", len(strings.Fields(t.Message)))
	return client.Reply{Intent: client.Complete, Draft: client.Draft{Message: text}}
}

type worker struct{ baton *client.Client }

// handle answers one event. An error means that the event must come again: Lambda tries twice more, then it waits in the
// dead-letter queue.
//
// Events come at least once and in no order. So the answer follows from the task as it stands, and its message id from the
// event: said twice, it stands once.
func (w worker) handle(ctx context.Context, event events.EventBridgeEvent) error {
	var e client.Event
	if err := json.Unmarshal(event.Detail, &e); err != nil {
		return fmt.Errorf("event %s: %w", event.ID, err)
	}
	t, err := w.baton.Task(ctx, e.AggregateID)
	if err != nil || t.State.Terminal() {
		return err
	}
	reply := answer(t)
	reply.MessageID = e.ID
	_, err = w.baton.Reply(ctx, t.ID, reply, client.Minimal())
	if client.HasCode(err, client.CodeTerminal) {
		return nil // it ended meanwhile: nobody waits for the answer
	}
	return err
}
