package main

import (
	"context"
	"encoding/json"
	"fmt"

	"baton/client"

	"github.com/aws/aws-lambda-go/events"
)

// worker answers tasks.
type worker struct{ baton *client.Client }

// detail is what it needs of an event. The task itself says the rest, and says it as it is now.
type detail struct {
	ID      string `json:"id"`
	Payload struct {
		TaskID string `json:"task_id"`
	} `json:"payload"`
}

// handle answers one event: a task was created, or its requester added a message. An error means that the event must
// come again.
//
// Events come at least once and in no order. So what to say follows from the task as it stands, and each message's id
// from the event that caused it: said twice, it stands once.
func (w worker) handle(ctx context.Context, event events.EventBridgeEvent) error {
	var d detail
	if err := json.Unmarshal(event.Detail, &d); err != nil {
		return fmt.Errorf("event %s: %w", event.ID, err)
	}
	task, err := w.baton.Task(ctx, d.Payload.TaskID)
	if err != nil || task.State.Terminal() {
		return err
	}
	wish := read(task.Messages)
	if event.DetailType == "a2a.task.created" {
		say := "I'll see to your refund."
		if wish.order != "" {
			say = fmt.Sprintf("I am looking at order %s.", wish.order)
		}
		if err := w.reply(ctx, d, client.Progress, client.Draft{Message: say}); err != nil {
			return err
		}
	}
	switch {
	case wish.order == "":
		return w.reply(ctx, d, client.AskCaller, client.Draft{Message: "Which order is it?"})
	case wish.amount == "":
		return w.reply(ctx, d, client.AskCaller, client.Draft{
			Message: fmt.Sprintf("How much of order %s shall I refund?", wish.order),
		})
	}
	receipt, err := json.Marshal(map[string]string{"order": wish.order, "amount": wish.amount, "currency": wish.currency})
	if err != nil {
		return err
	}
	return w.reply(ctx, d, client.Complete, client.Draft{Parts: []client.Part{
		{Text: fmt.Sprintf("Refunded %s %s for order %s.", wish.amount, wish.currency, wish.order)},
		{Data: receipt},
	}})
}

// reply says something because of an event. That the task ended meanwhile is no failure: nobody waits for the answer.
func (w worker) reply(ctx context.Context, d detail, intent client.Intent, say client.Draft) error {
	say.MessageID = d.ID + "/" + string(intent)
	_, err := w.baton.Reply(ctx, d.Payload.TaskID, client.Reply{Intent: intent, Draft: say}, client.Minimal())
	if client.HasCode(err, client.CodeTerminal) {
		return nil
	}
	return err
}
