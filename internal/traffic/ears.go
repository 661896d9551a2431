package traffic

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Ears are rules on organizations' buses, as their owners make them, with queues behind. Not for concurrent use, but for Again.
type Ears struct {
	Buses  *eventbridge.Client
	Queues *sqs.Client
	Prefix string // of the buses' names
	queues map[task.ID]string
	heard  []Told
}

const rule = "all"

// Listen puts a rule on an organization's bus.
func (e *Ears) Listen(ctx context.Context, organization task.ID) error {
	name := "heard-" + strings.ToLower(rand.Text()[:12])
	out, err := e.Queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		return fmt.Errorf("traffic: make a queue: %w", err)
	}
	if e.queues == nil {
		e.queues = map[task.ID]string{}
	}
	e.queues[organization] = *out.QueueUrl
	return e.Again(ctx, organization)
}

// Again puts the rule on a bus that was made anew, if there was one before.
func (e *Ears) Again(ctx context.Context, organization task.ID) error {
	url, known := e.queues[organization]
	if !known {
		return nil
	}
	attributes, err := e.Queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return fmt.Errorf("traffic: find a queue: %w", err)
	}
	bus := e.bus(organization)
	_, err = e.Buses.PutRule(ctx, &eventbridge.PutRuleInput{Name: new(rule), EventBusName: &bus, EventPattern: new(`{"source":["baton.a2a"]}`)})
	if err != nil {
		return fmt.Errorf("traffic: make a rule: %w", err)
	}
	_, err = e.Buses.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: new(rule), EventBusName: &bus, Targets: []ebtypes.Target{{
		Id: new("queue"), Arn: new(attributes.Attributes["QueueArn"]),
	}}})
	return err
}

func (e *Ears) bus(organization task.ID) string { return e.Prefix + organization.String() }

// DropBus deletes an organization's bus with its rule, as somebody with too many rights would.
func (e *Ears) DropBus(ctx context.Context, organization task.ID) error {
	bus := e.bus(organization)
	if _, err := e.Buses.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: new(rule), EventBusName: &bus, Ids: []string{"queue"}}); err != nil {
		return err
	}
	if _, err := e.Buses.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: new(rule), EventBusName: &bus}); err != nil {
		return err
	}
	_, err := e.Buses.DeleteEventBus(ctx, &eventbridge.DeleteEventBusInput{Name: &bus})
	return err
}

// MakeBus makes it anew, with its rule.
func (e *Ears) MakeBus(ctx context.Context, organization task.ID) error {
	if _, err := e.Buses.CreateEventBus(ctx, &eventbridge.CreateEventBusInput{Name: new(e.bus(organization))}); err != nil {
		return err
	}
	return e.Again(ctx, organization)
}

// Heard is all that came over the buses so far.
func (e *Ears) Heard(ctx context.Context) ([]Told, error) {
	for organization, url := range e.queues {
		for {
			out, err := e.Queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10})
			if err != nil {
				return nil, fmt.Errorf("traffic: hear: %w", err)
			}
			if len(out.Messages) == 0 {
				break
			}
			var done []sqstypes.DeleteMessageBatchRequestEntry
			for i, m := range out.Messages {
				var event struct{ Detail Told }
				if err := json.Unmarshal([]byte(*m.Body), &event); err != nil {
					return nil, fmt.Errorf("traffic: %q was on a bus: %w", *m.Body, err)
				}
				event.Detail.At = organization
				e.heard = append(e.heard, event.Detail)
				done = append(done, sqstypes.DeleteMessageBatchRequestEntry{Id: new(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle})
			}
			if _, err := e.Queues.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: done}); err != nil {
				return nil, fmt.Errorf("traffic: hear: %w", err)
			}
		}
	}
	return e.heard, nil
}
