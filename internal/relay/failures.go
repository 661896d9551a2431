package relay

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// FailureQueue keeps failures in an SQS queue.
type FailureQueue struct {
	client failureClient
	url    string
}

type failureClient interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// NewFailureQueue returns the queue with a URL.
func NewFailureQueue(client failureClient, url string) *FailureQueue {
	return &FailureQueue{client, url}
}

// failureMessage is a failure as it stands in the queue. It holds no text of a message.
type failureMessage struct {
	TaskID string `json:"task_id"`
	Number int    `json:"number"`
	Record string `json:"record"`
	Reason string `json:"reason"`
}

// Put implements Failures.
func (q *FailureQueue) Put(ctx context.Context, f Failure) error {
	body, err := json.Marshal(failureMessage{f.Task.String(), f.Number, f.Record, f.Reason})
	if err != nil {
		return err
	}
	text := string(body)
	if _, err := q.client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &text}); err != nil {
		return fmt.Errorf("relay: note failure: %w", err)
	}
	return nil
}
