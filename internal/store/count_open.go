package store

import (
	"context"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CountOpen counts the open tasks that an identity received, and stops at most. It reads all of them: about an eighth of
// a read unit for each. It may miss writes of the last two seconds.
func (s *Tasks) CountOpen(ctx context.Context, worker task.ID, most int) (n int, err error) {
	for _, state := range task.States {
		if state.Terminal() {
			continue
		}
		for _, code := range codesOf(state) {
			pages := dynamodb.NewQueryPaginator(s.db, &dynamodb.QueryInput{
				TableName: &s.table, IndexName: new(receivedIndex), Select: types.SelectCount,
				KeyConditionExpression:    new(attrReceived + " = :key"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":key": binaryValue(indexKey(worker, code))},
			})
			for pages.HasMorePages() && n < most {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return n, sdkError(err, "count open tasks of %s", worker)
				}
				n += int(page.Count)
			}
		}
	}
	return min(n, most), nil
}
