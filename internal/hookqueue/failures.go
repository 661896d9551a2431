package hookqueue

import (
	"context"
	"encoding/json"
	"fmt"

	"baton/internal/queues"
	"baton/internal/task"
	"baton/internal/webhook"
)

// Failures are the tries that could not be made for reasons of ours, in the queue to which SQS moves them.
type Failures struct {
	failed queues.Queue
	again  webhook.Queue
}

// NewFailures returns the failures in a queue; again is where they came from.
func NewFailures(client queues.Client, url string, again webhook.Queue) Failures {
	return Failures{queues.New(client, url), again}
}

// Look shows every try, and leaves it there; of a message that is none, what it says.
func (f Failures) Look(ctx context.Context, show func(string)) error {
	return f.failed.Look(ctx, func(body string) {
		j, err := parseJob(body)
		if err != nil {
			show(err.Error())
			return
		}
		show(describe(j))
	})
}

func describe(j webhook.Job) string {
	return fmt.Sprintf("try %d of %s: event %d of organization %s", j.Tries+1, j, j.Sequence, j.Organization)
}

// Redrive shows every try and queues it again. What fails stays, and keeps nothing else from being queued.
func (f Failures) Redrive(ctx context.Context, show func(string)) error {
	return f.failed.Redrive(ctx, func(ctx context.Context, body string) error {
		j, err := parseJob(body)
		if err != nil {
			return err
		}
		show(describe(j))
		return f.again.Put(ctx, 0, j)
	})
}

func parseJob(body string) (webhook.Job, error) {
	var m message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return webhook.Job{}, fmt.Errorf("hookqueue: malformed message %q: %w", body, err)
	}
	organization, ok1 := task.ParseID(m.Organization)
	hook, ok2 := task.ParseID(m.Hook)
	event, ok3 := task.ParseID(m.Event)
	if !ok1 || !ok2 || !ok3 || m.Sequence < 1 {
		return webhook.Job{}, fmt.Errorf("hookqueue: malformed message %q", body)
	}
	return webhook.Job{Organization: organization, Hook: hook, Event: event, Type: m.Type, Sequence: m.Sequence, Tries: m.Tries}, nil
}
