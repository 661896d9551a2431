// Package queues looks at the queues of what failed for good, and empties them again. What a message means, and how what it
// asks for is done, stays out: that is of the room which put it there.
package queues

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Queue is one such queue. Safe for concurrent use, but two at once see a part each.
type Queue struct {
	client Client
	url    string
}

// Client is what it needs of SQS.
type Client interface {
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessage(context.Context, *sqs.DeleteMessageInput, ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error)
	ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
}

// New returns the queue with a URL.
func New(client Client, url string) Queue { return Queue{client, url} }

// hidden is for how long a look or a redrive has a message to itself, in seconds.
const hidden = 300

// Look shows the body of every message, and leaves all of them there.
func (q Queue) Look(ctx context.Context, show func(body string)) error {
	return q.each(ctx, func(m types.Message) error {
		show(*m.Body)
		return errStays
	})
}

// Redrive gives every message to again, and takes out those for which it returns nil. What fails stays, and keeps nothing
// else from being done; the error has them all.
func (q Queue) Redrive(ctx context.Context, again func(ctx context.Context, body string) error) error {
	return q.each(ctx, func(m types.Message) error {
		if err := again(ctx, *m.Body); err != nil {
			return err
		}
		if _, err := q.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
			return fmt.Errorf("queues: take out: %w", err)
		}
		return nil
	})
}

var errStays = errors.New("queues: only looked at")

// each calls do once for every message in the queue, and then lets those be seen again for which it returned an error.
func (q Queue) each(ctx context.Context, do func(types.Message) error) error {
	var failed []error
	var stay []types.Message
	for {
		out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &q.url, MaxNumberOfMessages: 10, VisibilityTimeout: hidden, WaitTimeSeconds: 1,
		})
		if err != nil {
			failed = append(failed, fmt.Errorf("queues: receive: %w", err))
			break
		}
		if len(out.Messages) == 0 {
			break
		}
		for _, m := range out.Messages {
			if err := do(m); err != nil {
				stay = append(stay, m)
				if !errors.Is(err, errStays) {
					failed = append(failed, err)
				}
			}
		}
	}
	for _, m := range stay {
		_, err := q.client.ChangeMessageVisibility(context.WithoutCancel(ctx), &sqs.ChangeMessageVisibilityInput{
			QueueUrl: &q.url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 0,
		})
		if err != nil {
			failed = append(failed, fmt.Errorf("queues: put back: %w", err))
		}
	}
	return errors.Join(failed...)
}
