package store

import (
	"context"
	"slices"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Claimable implements task.Store.
func (s *Tasks) Claimable(ctx context.Context, worker task.ID, limit int, now time.Time) ([]task.View, error) {
	var views []task.View
	for _, code := range []byte{codeSubmitted, codeLeased} {
		in := &dynamodb.QueryInput{
			TableName: &s.table, IndexName: aws.String(receivedIndex), Limit: aws.Int32(int32(limit)),
			KeyConditionExpression:    new(attrReceived + " = :key"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":key": binaryValue(indexKey(worker, code))},
		}
		for found := 0; ; {
			out, err := s.db.Query(ctx, in)
			if err != nil {
				return nil, tasksError("list claimable", worker, err)
			}
			for _, item := range out.Items {
				h, err := parseTask(item)
				if err != nil {
					return nil, err
				}
				if h.Claimable(now) && found < limit {
					found++
					views = append(views, task.View{Task: h.Task, Token: token{head: h}, Minimal: true})
				}
			}
			if len(out.LastEvaluatedKey) == 0 || found == limit {
				break
			}
			in.ExclusiveStartKey = out.LastEvaluatedKey
		}
	}
	slices.SortStableFunc(views, func(a, b task.View) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
	return views, nil
}
