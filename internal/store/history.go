package store

import (
	"context"
	"fmt"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// mostHistory bounds a page of messages in bytes as stored: answers stay under 5 MB, which is less than the 6 MB that
// Lambda takes.
const mostHistory = 1 << 20

// History implements task.Store.
func (s *Tasks) History(ctx context.Context, id task.ID, after, limit int) (page []task.Message, next int, err error) {
	last, bytes := 0, 0
	err = s.eachChange(ctx, id, after+1, maxChange, limit+1, func(c changeParts) (bool, error) {
		if c.Message == nil {
			return true, nil
		}
		if len(page) == limit || bytes > mostHistory {
			next = last
			return false, nil
		}
		change, err := c.change()
		if err != nil {
			return false, err
		}
		page = append(page, *change.Message)
		last = c.Number
		bytes += change.Message.Size()
		return true, nil
	})
	return page, next, err
}

// Change reads one change of a task, whole. Errors: task.ErrNotFound, task.ErrUnavailable.
func (s *Tasks) Change(ctx context.Context, id task.ID, number int) (found task.Change, err error) {
	err = s.eachChange(ctx, id, number, number, 1, func(c changeParts) (bool, error) {
		found, err = c.change()
		return false, err
	})
	if err == nil && found.Number == 0 {
		err = task.ErrNotFound
	}
	return found, err
}

const maxChange = 999_999

// eachChange gives the changes from one number to another, in order and without a gap, each when all its items are
// there, until yield says no. estimate is how many are likely to be needed.
func (s *Tasks) eachChange(ctx context.Context, id task.ID, from, to, estimate int, yield func(changeParts) (bool, error)) error {
	for range tornReads {
		next, done, err := s.changesFrom(ctx, id, from, to, estimate, yield)
		if err != nil || done {
			return err
		}
		from = next
	}
	return fmt.Errorf("store: read changes of task %s: %w: every read was torn", id, task.ErrUnavailable)
}

// changesFrom is one walk over the changes. It is not done when it met only a part of a write, since a query is no
// snapshot: then next is the change to go on from.
func (s *Tasks) changesFrom(ctx context.Context, id task.ID, from, to, estimate int, yield func(changeParts) (bool, error)) (next int, done bool, err error) {
	in := &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: new(true), Limit: aws.Int32(int32(estimate + 4)),
		KeyConditionExpression: new(attrPartition + " = :p AND " + attrSort + " BETWEEN :from AND :to"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":p": binaryValue(partition(taskPartition, id)), ":from": stringValue(changeSortKey(from)),
			":to": stringValue(changeSortKey(to) + "$"), // behind every further item of it
		},
	}
	var open *changeParts
	for next = from; ; {
		out, err := s.query(ctx, in)
		if err != nil {
			return next, false, sdkError(err, "read changes of task %s", id)
		}
		for _, item := range out.Items {
			number, part, err := parseChangeSort((&logReader{item: item}).text(attrSort))
			if err != nil {
				return next, false, err
			}
			switch {
			case number != next, part > 0 && open == nil:
				return next, false, nil
			case part > 0:
				err = open.addPart(item, part)
			default:
				var c changeParts
				c, err = parseChangeHead(item)
				open = &c
			}
			if err != nil {
				return next, false, err
			}
			if open.whole() {
				if more, err := yield(*open); err != nil || !more {
					return next, true, err
				}
				open = nil
				next++
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return next, open == nil, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// ParseChange reads a change from the item of a stream record. whole is false when its message goes on in further
// items: then the change has none, and Change reads it. An error means that no later try will succeed.
func (s *Tasks) ParseChange(item map[string]types.AttributeValue) (c task.Change, whole bool, err error) {
	parts, err := parseChangeHead(item)
	if err != nil {
		return task.Change{}, false, err
	}
	if !parts.whole() {
		parts.Message = nil
		return parts.Change, false, nil
	}
	c, err = parts.change()
	return c, true, err
}

// ParseChangeKey reads which change the key of an item is of.
func (s *Tasks) ParseChangeKey(key map[string]types.AttributeValue) (id task.ID, number int, err error) {
	if id, err = parsePartition(taskPartition, key); err != nil {
		return task.ID{}, 0, err
	}
	number, _, err = parseChangeSort((&logReader{item: key}).text(attrSort))
	return id, number, err
}
