package hookqueue_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"baton/internal/hookqueue"
	"baton/internal/localaws"
	"baton/internal/task"
	"baton/internal/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// More tries than one call receives, and a message that is none: it stays, and is said to be there.
func TestFailedTriesAreQueuedAgain(t *testing.T) {
	config, _ := localaws.Config(t)
	client := sqs.NewFromConfig(config)
	queue := func(name string) string {
		made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(localaws.Unique(name))})
		if err != nil {
			t.Fatal(err)
		}
		return *made.QueueUrl
	}
	failed, deliveries := queue("failed"), queue("deliveries")
	var want []string
	for n := range 12 {
		j := webhook.Job{Organization: task.NewID(), Hook: task.NewID(), Event: task.NewID(), Type: task.EventCreated, Sequence: int64(n + 1), Tries: n % 3}
		if err := hookqueue.New(client, failed).Put(t.Context(), 0, j); err != nil {
			t.Fatal(err)
		}
		want = append(want, j.Organization.String())
	}
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &failed, MessageBody: aws.String("no job")}); err != nil {
		t.Fatal(err)
	}
	failures := hookqueue.NewFailures(client, failed, hookqueue.New(client, deliveries))
	look := func() (lines []string) {
		t.Helper()
		if err := failures.Look(t.Context(), func(line string) { lines = append(lines, line) }); err != nil {
			t.Fatal(err)
		}
		return lines
	}
	for range 2 { // a look takes nothing away
		lines := look()
		if len(lines) != 13 || !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "no job") }) {
			t.Fatalf("looked at %q", lines)
		}
	}
	impatient, leave := context.WithCancel(t.Context()) // whoever breaks off leaves all of them there, too
	if err := failures.Look(impatient, func(string) { leave() }); err == nil {
		t.Error("a look that was broken off succeeded")
	}
	if lines := look(); len(lines) != 13 {
		t.Errorf("after a look that was broken off: %d", len(lines))
	}
	shown := 0
	if err := failures.Redrive(t.Context(), func(string) { shown++ }); err == nil || !strings.Contains(err.Error(), "no job") || shown != 12 {
		t.Errorf("%v, %d shown", err, shown)
	}
	if lines := look(); len(lines) != 1 || !strings.Contains(lines[0], "no job") {
		t.Errorf("left: %q", lines)
	}
	var got []string
	for {
		out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &deliveries, MaxNumberOfMessages: 10, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"MessageGroupId"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Messages) == 0 {
			break
		}
		for _, m := range out.Messages {
			got = append(got, m.Attributes["MessageGroupId"]) // the organization: what is long for one is short for the others
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("queued again: %v\nwant %v", got, want)
	}
}

// A try that can't be queued stays.
func TestATryThatCannotBeQueuedStays(t *testing.T) {
	config, faults := localaws.Config(t)
	client := sqs.NewFromConfig(config, func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} })
	made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(localaws.Unique("failed"))})
	if err != nil {
		t.Fatal(err)
	}
	queue := hookqueue.New(client, *made.QueueUrl)
	j := webhook.Job{Organization: task.NewID(), Hook: task.NewID(), Event: task.NewID(), Type: task.EventCreated, Sequence: 1}
	if err := queue.Put(t.Context(), 0, j); err != nil {
		t.Fatal(err)
	}
	faults.On("SendMessageBatch").Refuse()
	failures := hookqueue.NewFailures(client, *made.QueueUrl, queue)
	if err := failures.Redrive(t.Context(), func(string) {}); err == nil {
		t.Error("no error")
	}
	lines := 0
	if err := failures.Look(t.Context(), func(string) { lines++ }); err != nil || lines != 1 {
		t.Errorf("%d left, %v", lines, err)
	}
}
