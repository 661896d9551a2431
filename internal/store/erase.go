package store

import (
	"context"
	"fmt"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// eraseAtOnce is how many items one transaction deletes; it may have 100.
const eraseAtOnce = 50

// Erase deletes a task as it was listed, with its changes and its place in its context: for an organization's purge only.
// The head goes last, in the order of the keys, so that what was begun is listed again.
func (s *Tasks) Erase(ctx context.Context, t task.Task) error {
	_, err := s.transact(ctx, "leave context", t.ID, []types.TransactWriteItem{{Update: &types.Update{
		TableName: &s.table, Key: contextKey(t.Context),
		UpdateExpression:          new("DELETE " + attrTasks + " :task"),
		ConditionExpression:       new("attribute_exists(" + attrPartition + ")"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":task": taskSet(t.ID)},
	}}})
	if err != nil {
		return err
	}
	return erasePartition(ctx, s.db, s.table, partition(taskPartition, t.ID), func(err error) error {
		return sdkError(err, "erase task %s", t.ID)
	})
}

// Erase deletes an organization's log, its head last: for its purge only. The markers of its events, which tell nothing
// but a number, expire by themselves.
func (l *Log) Erase(ctx context.Context, organization task.ID) error {
	head, err := l.Head(ctx, organization)
	if err != nil {
		return err
	}
	failed := func(err error) error { return sdkError(err, "erase log of %s", organization) }
	for first := int64(0); first <= head.Sequence; first += segment {
		if err := erasePartition(ctx, l.db, l.table, segmentKey(organization, first), failed); err != nil {
			return err
		}
	}
	return erasePartition(ctx, l.db, l.table, append([]byte{'H'}, organization[:]...), failed)
}

// EraseOf returns what deletes the deliveries to all of an organization's hooks, deleted ones too: for its purge only.
func (s *Deliveries) EraseOf(hooks *Directory) func(ctx context.Context, organization task.ID) error {
	return func(ctx context.Context, organization task.ID) error {
		return hooks.eachHook(ctx, organization, func(it dirItem) error {
			hook, ok := task.ParseID(dirTextOf(it["s"]))
			if !ok {
				return fmt.Errorf("store: erase deliveries of %s: %q is no webhook", organization, dirTextOf(it["s"]))
			}
			return erasePartition(ctx, s.db, s.table, deliveryPartition(hook), func(err error) error {
				return sdkError(err, "erase deliveries to hook %s", hook)
			})
		})
	}
}

type eraser interface {
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// erasePartition deletes all items of a partition, in the order of their keys.
func erasePartition(ctx context.Context, db eraser, table string, key []byte, failed func(error) error) error {
	for {
		out, err := db.Query(ctx, &dynamodb.QueryInput{
			TableName: &table, ConsistentRead: new(true), Limit: new(int32(eraseAtOnce)),
			KeyConditionExpression:    new(attrPartition + " = :p"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":p": binaryValue(key)},
		})
		if err != nil {
			return failed(err)
		}
		if len(out.Items) == 0 {
			if len(out.LastEvaluatedKey) == 0 {
				return nil
			}
			continue
		}
		deletes := make([]types.TransactWriteItem, len(out.Items))
		for n, it := range out.Items {
			deletes[n].Delete = &types.Delete{TableName: &table, Key: map[string]types.AttributeValue{
				attrPartition: it[attrPartition], attrSort: it[attrSort],
			}}
		}
		if _, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: deletes}); err != nil {
			return failed(err)
		}
	}
}
