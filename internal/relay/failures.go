package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// FailureQueue keeps failures in an SQS queue, beside what Lambda puts there itself: batches of the stream that were
// not told within a day.
type FailureQueue struct {
	client failureClient
	url    string
}

type failureClient interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessage(context.Context, *sqs.DeleteMessageInput, ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error)
	ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
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

	// Lambda's own message about a batch (AWS, "Retain discarded batches").
	Context struct {
		Condition string `json:"condition"`
	} `json:"requestContext,omitzero"`
	Batch *struct {
		First time.Time `json:"approximateArrivalOfFirstRecord"`
		Last  time.Time `json:"approximateArrivalOfLastRecord"`
		From  string    `json:"startSequenceNumber"`
	} `json:"DDBStreamBatchInfo,omitempty"`
}

// Put implements Failures.
func (q *FailureQueue) Put(ctx context.Context, f Failure) error {
	body, err := json.Marshal(failureMessage{TaskID: f.Task.String(), Number: f.Number, Record: f.Record, Reason: f.Reason})
	if err != nil {
		return err
	}
	text := string(body)
	if _, err := q.client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &text}); err != nil {
		return fmt.Errorf("relay: note failure: %w", err)
	}
	return nil
}

// hidden is for how long a look or a redrive has a message to itself, in seconds.
const hidden = 300

// Look shows every failure in the queue, and leaves it there.
func (q *FailureQueue) Look(ctx context.Context, show func(Failure)) error {
	var seen []types.Message
	err := q.each(ctx, func(m types.Message, f Failure) error {
		show(f)
		seen = append(seen, m)
		return nil
	})
	for _, m := range seen {
		_, again := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
			QueueUrl: &q.url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 0,
		})
		if err == nil {
			err = again
		}
	}
	return err
}

// Redrive gives every failure in the queue to tell, and takes out those for which it returns nil. It ends with the first
// error; what was not told stays.
func (q *FailureQueue) Redrive(ctx context.Context, tell func(context.Context, Failure) error) error {
	return q.each(ctx, func(m types.Message, f Failure) error {
		if err := tell(ctx, f); err != nil {
			return err
		}
		_, err := q.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: m.ReceiptHandle})
		return err
	})
}

func (q *FailureQueue) each(ctx context.Context, do func(types.Message, Failure) error) error {
	for {
		out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &q.url, MaxNumberOfMessages: 10, VisibilityTimeout: hidden, WaitTimeSeconds: 1,
		})
		if err != nil || len(out.Messages) == 0 {
			return err
		}
		for _, m := range out.Messages {
			f, err := parseFailure(*m.Body)
			if err != nil {
				return err
			}
			if err := do(m, f); err != nil {
				return err
			}
		}
	}
}

func parseFailure(body string) (Failure, error) {
	var m failureMessage
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return Failure{}, fmt.Errorf("relay: %q is no failure: %w", body, err)
	}
	if m.Batch != nil {
		return Failure{Record: m.Batch.From, Reason: m.Context.Condition, First: m.Batch.First, Last: m.Batch.Last}, nil
	}
	id, ok := task.ParseID(m.TaskID)
	if !ok {
		return Failure{}, fmt.Errorf("relay: %q is no failure", body)
	}
	return Failure{Task: id, Number: m.Number, Record: m.Record, Reason: m.Reason}, nil
}
