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
	db     tasksDB
	table  string
	page   allowance
	leases leases
}

type tasksDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// NewTasks returns the tasks in a table.
func NewTasks(db tasksDB, table string) *Tasks {
	return &Tasks{db: db, table: table, page: allowance{pageTime, PageUnits}}
}

var _ task.Store = (*Tasks)(nil)

func newAttempt() (a attempt) {
	rand.Read(a[:]) // never fails: crypto/rand ends the process instead
	return a
}

const (
	notThere   = "attribute_not_exists(" + attrPartition + ")"
	asAttempt  = attrAttempt + " = :was"
	joinsOK    = attrPair + " = :pair AND size(" + attrTasks + ") < :most"
	joinUpdate = "SET " + attrSchema + " = :schema ADD " + attrTasks + " :task"
)

// put is one action of a transaction that stores an item under a condition, and gives the item that failed it.
func (s *Tasks) put(item map[string]types.AttributeValue, condition string, values map[string]types.AttributeValue) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &s.table, Item: item, ConditionExpression: &condition, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// transact commits all items or none. It tries again while other transactions are in the way, for about five seconds;
// then it returns task.ErrConflict, or task.ErrUnavailable when it was throttled to the end. When a condition failed it
// returns why each action did not go. The first item decides: what is known of the others is worth nothing while
// another write holds that one.
func (s *Tasks) transact(ctx context.Context, what string, id task.ID, items []types.TransactWriteItem) ([]types.CancellationReason, error) {
	for pause, spent := firstPause, time.Duration(0); ; {
		_, err := s.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
		if err == nil {
			return nil, nil
		}
		reasons := cancellation(err)
		kind := kindOf(reasons)
		if isConflict(err) {
			kind = failedByConflict
		}
		switch {
		case kind == failedCondition:
			return reasons, nil
		case kind == failedOtherwise, kind == failedByThrottle && spent >= patience:
			return nil, tasksError(what, id, err)
		case spent >= patience:
			return nil, fmt.Errorf("store: %s of task %s: %w", what, id, task.ErrConflict)
		}
		if err := sleep(ctx, randv2.N(pause)); err != nil {
			return nil, tasksError(what, id, err)
		}
		spent += pause / 2
		pause = min(2*pause, lastPause)
	}
}

// The pauses between tries: full jitter from 25 ms up to 1 s, for 5 s in all. With 100 sends at once into one context,
// 20 tries lost none where 3 lost 91.
const (
	firstPause = 25 * time.Millisecond
	lastPause  = time.Second
	patience   = 5 * time.Second
)

type failure int

const (
	failedOtherwise failure = iota // for good, or not by a cancellation at all
	failedByConflict
	failedByThrottle
	failedCondition
)

// kindOf says what a cancellation means.
func kindOf(reasons []types.CancellationReason) failure {
	seen := map[string]bool{}
	for _, r := range reasons {
		code := *r.Code
		if code != reasonNone && code != reasonCondition && !isContention(code) {
			return failedOtherwise
		}
		seen[code] = true
	}
	switch {
	case seen[reasonCondition] && !isContention(*reasons[0].Code):
		return failedCondition
	case seen[reasonConflict]:
		return failedByConflict
	case len(reasons) > 0:
		return failedByThrottle
	}
	return failedOtherwise
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
