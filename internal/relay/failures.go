package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"baton/internal/queues"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// FailureQueue keeps failures in an SQS queue, beside what Lambda puts there itself: batches of the stream that were
// not told within a day.
type FailureQueue struct {
	client failureClient
	url    string
}

type failureClient interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	queues.Client
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

// Look shows every failure in the queue, and leaves it there. A message that is none is an error, after all others.
func (q *FailureQueue) Look(ctx context.Context, show func(Failure)) error {
	var strange []error
	err := queues.New(q.client, q.url).Look(ctx, func(body string) {
		f, err := parseFailure(body)
		if err != nil {
			strange = append(strange, err)
			return
		}
		show(f)
	})
	return errors.Join(append(strange, err)...)
}

// Redrive gives every failure in the queue to tell, and takes out those for which it returns nil. What was not told stays,
// and keeps nothing else from being told; the error has them all.
func (q *FailureQueue) Redrive(ctx context.Context, tell func(context.Context, Failure) error) error {
	return queues.New(q.client, q.url).Redrive(ctx, func(ctx context.Context, body string) error {
		f, err := parseFailure(body)
		if err != nil {
			return err
		}
		return tell(ctx, f)
	})
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
