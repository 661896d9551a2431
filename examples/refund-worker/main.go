// Command refund-worker is an agent that pays refunds, run by nothing but its tasks: a rule on its organization's event
// bus starts it for every new task and every further message, and it answers over HTTPS with its agent key.
//
// It pretends to pay. What is real is how a worker stays right when events come twice, late or out of order; see
// worker.go.
package main

import (
	"context"
	"log"
	"os"

	"baton/client"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

func main() {
	key, err := agentKey(context.Background(), setting("AGENT_KEY_SECRET_ARN"))
	if err != nil {
		log.Fatal(err)
	}
	w := worker{client.New(setting("BATON_URL"), key, client.WithUserAgent("refund-worker"))}
	lambda.Start(w.handle)
}

// setting is an environment variable that must be there.
func setting(name string) string {
	value := os.Getenv(name)
	if value == "" {
		log.Fatalf("%s is not set", name)
	}
	return value
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
