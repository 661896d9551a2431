// Package hookqueue is the queue in which deliveries to webhooks wait to be made: jobs of package webhook as messages of
// SQS. It is a room of its own so that only the functions that queue link the client of SQS.
//
// What a job means, and what comes of it, stays out.
package hookqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"baton/internal/task"
	"baton/internal/webhook"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// SQS implements webhook.Queue. Safe for concurrent use.
type SQS struct {
	client sqsClient
	url    string
}

var _ webhook.Queue = (*SQS)(nil)

type sqsClient interface {
	SendMessageBatch(context.Context, *sqs.SendMessageBatchInput, ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
}

// New returns the queue with a URL.
func New(client sqsClient, url string) *SQS { return &SQS{client, url} }

// message is a job as it stands in the queue.
type message struct {
	Organization string         `json:"organization_id"`
	Hook         string         `json:"webhook_id"`
	Event        string         `json:"event_id"`
	Type         task.EventType `json:"type"`
	Sequence     int64          `json:"sequence"`
	Tries        int            `json:"tries"`
}

const (
	batch    = 10 // of SendMessageBatch (AWS, "Amazon SQS message quotas")
	putTries = 3  // of what SQS does not take at once
)

// Put implements webhook.Queue. Jobs of one organization are one group, so that a queue that is long for one is short for the
// others, however many hooks it has (AWS, "Amazon SQS fair queues").
func (q *SQS) Put(ctx context.Context, delay time.Duration, jobs ...webhook.Job) error {
	for chunk := range slices.Chunk(jobs, batch) {
		if err := q.put(ctx, delay, chunk); err != nil {
			return err
		}
	}
	return nil
}

func (q *SQS) put(ctx context.Context, delay time.Duration, jobs []webhook.Job) error {
	entries := make([]types.SendMessageBatchRequestEntry, len(jobs))
	for i, j := range jobs {
		body, err := json.Marshal(message{
			j.Organization.String(), j.Hook.String(), j.Event.String(), j.Type, j.Sequence, j.Tries,
		})
		if err != nil {
			return fmt.Errorf("hookqueue: encode job: %w", err)
		}
		entries[i] = types.SendMessageBatchRequestEntry{
			Id: new(strconv.Itoa(i)), MessageBody: new(string(body)), DelaySeconds: int32(delay / time.Second),
			MessageGroupId: new(j.Organization.String()),
		}
	}
	for range putTries {
		out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &q.url, Entries: entries})
		if err != nil {
			return fmt.Errorf("hookqueue: queue deliveries: %w: %w", task.ErrUnavailable, err)
		}
		failed := map[string]bool{}
		for _, f := range out.Failed {
			failed[*f.Id] = true
		}
		entries = slices.DeleteFunc(entries, func(e types.SendMessageBatchRequestEntry) bool { return !failed[*e.Id] })
		if len(entries) == 0 {
			return nil
		}
	}
	return fmt.Errorf("hookqueue: queue deliveries: %w: %d of %d were not taken", task.ErrUnavailable, len(entries), len(jobs))
}

// Handle gives a batch of messages to the worker, side by side: a slow receiver holds up only itself. Those that ask for
// the same go one after the other, so that the second finds it done. The answer names the messages that must come again.
// The error is always nil.
func Handle(w *webhook.Worker) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, in events.SQSEvent) (response events.SQSEventResponse, _ error) {
		// Not null, which Lambda takes for none too (AWS, "Handling errors for an SQS event source in Lambda") and the local
		// AWS for a failure of all.
		response.BatchItemFailures = []events.SQSBatchItemFailure{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		same := map[string][]events.SQSMessage{}
		for _, m := range in.Records {
			same[m.Body] = append(same[m.Body], m)
		}
		for _, messages := range same {
			wg.Go(func() {
				for _, m := range messages {
					if err := handle(ctx, w, m); err != nil {
						slog.ErrorContext(ctx, "delivery not made", "message_id", m.MessageId, "error", err)
						mu.Lock()
						response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
						mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		return response, nil
	}
}

func handle(ctx context.Context, w *webhook.Worker, in events.SQSMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("hookqueue: panic: %v", p)
		}
	}()
	j, err := parseJob(in.Body)
	if err != nil {
		return err
	}
	received, _ := strconv.Atoi(in.Attributes["ApproximateReceiveCount"])
	return w.Do(ctx, j, received > 1)
}
