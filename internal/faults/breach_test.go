package faults

import (
	"strings"
	"testing"

	"baton/client"
	"baton/internal/task"
	"baton/internal/traffic"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Each invariant is broken on purpose: a check that finds all of them held would prove nothing.
func TestBreachesAreSeen(t *testing.T) {
	s := newStage(t, faultCase{})
	ctx := t.Context()
	agents := s.traffic.World.Agents()
	requester, worker := agents[0], agents[2] // of two organizations
	organization, _ := task.ParseID(requester.OrganizationID)

	// A relay that takes a change for told without telling of it.
	swallowed := 0
	s.background.drop = func(events.DynamoDBEventRecord) bool { swallowed++; return swallowed == 1 }
	lost, ok := s.traffic.Send(ctx, requester, worker)
	doubled, too := s.traffic.Send(ctx, requester, worker)
	if !ok || !too {
		t.Fatal("not sent")
	}
	// A message that stands on its task once more than it was sent.
	_, err := requester.Client().Add(ctx, doubled.ID, client.Draft{Message: "again", MessageID: "again"})
	s.must(err)
	s.settle()
	s.hear()

	// A bus that is told what is another organization's.
	for _, told := range s.told["bus"] {
		if told.At != organization {
			told.At = organization
			s.told["bus"] = append(s.told["bus"], told)
			break
		}
	}
	// A log that says it is longer than it is.
	_, err = s.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.tables.Events, Key: map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberB{Value: append([]byte{'H'}, organization[:]...)}, "s": &types.AttributeValueMemberN{Value: "0"},
		},
		UpdateExpression: new("ADD q :one"), ExpressionAttributeValues: map[string]types.AttributeValue{
			":one": &types.AttributeValueMemberN{Value: "1"},
		},
	})
	s.must(err)
	// An answer that is none of the contract's.
	s.traffic.Ledger.Surprise("500 to a send")

	found := s.check()
	for invariant, text := range map[traffic.Invariant]string{
		traffic.Kept:     "of task " + lost.ID + " is not in the log",
		traffic.Once:     "task " + doubled.ID + " has message again that nobody sent",
		traffic.Private:  "bus of " + organization.String() + " told event",
		traffic.Free:     "task " + lost.ID + " is submitted",
		traffic.Counted:  "log of " + organization.String() + " says 1 entries, there are 0",
		traffic.Answered: "500 to a send",
	} {
		if !strings.Contains(strings.Join(found[invariant], "\n"), text) {
			t.Errorf("%s: found %q, want one of %q", invariant, found[invariant], text)
		}
	}
}
