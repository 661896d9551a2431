package store

import (
	"context"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Entries reads an organization's log from the entry after the given one, at most limit entries, oldest first. It
// never passes a hole: an append becomes visible entry by entry, and what stands behind one that can't be seen yet is
// left for the next call. Fewer than limit mean that there is no more to be seen now.
func (l *Log) Entries(ctx context.Context, organization task.ID, after int64, limit int) (entries []task.Event, err error) {
	for next := after + 1; len(entries) < limit; {
		last := next/segment*segment + segment - 1 // of its segment
		page, err := l.segment(ctx, organization, next, last, limit-len(entries))
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if e.Sequence != next {
				return entries, nil
			}
			entries = append(entries, e)
			next++
		}
		if next <= last {
			break
		}
	}
	return entries, nil
}

// segment reads entries of one partition.
func (l *Log) segment(ctx context.Context, organization task.ID, from, to int64, limit int) (entries []task.Event, err error) {
	var start map[string]types.AttributeValue
	for len(entries) < limit {
		out, err := l.db.Query(ctx, &dynamodb.QueryInput{
			TableName: &l.table, ConsistentRead: new(true), Limit: new(int32(limit - len(entries))),
			KeyConditionExpression: new(attrPartition + " = :segment AND " + attrSort + " BETWEEN :from AND :to"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":segment": &types.AttributeValueMemberB{Value: segmentKey(organization, from)},
				":from":    number(from), ":to": number(to),
			},
			ExclusiveStartKey: start,
		})
		if err != nil {
			return nil, sdkError(err, "read log of %s", organization)
		}
		for _, item := range out.Items {
			e, err := parseEntry(organization, item)
			if err != nil {
				return nil, err
			}
			entries = append(entries, e)
		}
		if start = out.LastEvaluatedKey; start == nil {
			break
		}
	}
	return entries, nil
}

// Texts completes the texts of entries of which the log holds only the beginning. An entry whose change is no more (its
// organization was purged), or can't be read, stays as it is: one bad change must not stop a log.
func (l *Log) Texts(ctx context.Context, entries []task.Event) error {
	return completeTexts(ctx, l.changes, entries)
}
