package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	randv2 "math/rand/v2"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Tasks implements task.Store on the table tasks.
type Tasks struct {
	db    tasksDB
	table string
}

type tasksDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// NewTasks returns the tasks in a table.
func NewTasks(db tasksDB, table string) *Tasks { return &Tasks{db, table} }

var _ task.Store = (*Tasks)(nil)

func newAttempt() (a attempt) {
	rand.Read(a[:]) // never fails: crypto/rand ends the process instead
	return a
}

const (
	notThere   = "attribute_not_exists(" + attrPartition + ")"
	asAttempt  = attrAttempt + " = :was"
	joinsOK    = attrPair + " = :pair AND size(" + attrTasks + ") < :most"
	joinUpdate = "ADD " + attrTasks + " :task"
)

// put is one action of a transaction that stores an item under a condition, and gives the item that failed it.
func (s *Tasks) put(item map[string]types.AttributeValue, condition string, values map[string]types.AttributeValue) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &s.table, Item: item, ConditionExpression: &condition, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// transact commits all items or none. It tries again while other transactions are in the way, for about five seconds;
// then it returns task.ErrConflict. When a condition failed it returns why each action did not go.
func (s *Tasks) transact(ctx context.Context, what string, id task.ID, items []types.TransactWriteItem) ([]types.CancellationReason, error) {
	for pause, spent := 25*time.Millisecond, time.Duration(0); ; {
		_, err := s.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
		if err == nil {
			return nil, nil
		}
		reasons := cancellation(err)
		switch kind := kindOf(reasons); {
		case kind == failedCondition:
			return reasons, nil
		case kind == failedOtherwise && !isConflict(err):
			return nil, tasksError(what, id, err)
		case spent >= 5*time.Second:
			return nil, fmt.Errorf("store: %s of task %s: %w", what, id, task.ErrConflict)
		}
		if err := sleep(ctx, randv2.N(pause)); err != nil {
			return nil, fmt.Errorf("store: %s of task %s: %w: %w", what, id, task.ErrUnavailable, err)
		}
		spent += pause / 2
		pause = min(2*pause, time.Second)
	}
}

type failure int

const (
	failedOtherwise failure = iota // for good, or not by a cancellation at all
	failedByContention
	failedCondition
)

// kindOf says what a cancellation means. A failed condition decides: the others were not looked at any more.
func kindOf(reasons []types.CancellationReason) failure {
	kind := failedOtherwise
	for _, r := range reasons {
		switch code := *r.Code; {
		case code == reasonCondition:
			return failedCondition
		case isContention(code):
			kind = failedByContention
		case code != reasonNone:
			return failedOtherwise
		}
	}
	return kind
}

func isConflict(err error) bool {
	var conflict *types.TransactionConflictException
	var inProgress *types.TransactionInProgressException
	return errors.As(err, &conflict) || errors.As(err, &inProgress)
}

// tasksError is an SDK's error as callers know it: whatever it was, a later try may succeed, and the write may have
// been applied.
func tasksError(what string, id task.ID, err error) error {
	return fmt.Errorf("store: %s of task %s: %w: %w", what, id, task.ErrUnavailable, err)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
