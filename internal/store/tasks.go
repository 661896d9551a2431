package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

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
	for race := task.NewRace(task.Patience); ; {
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
		case kind == failedOtherwise, kind == failedByThrottle && race.Over():
			return nil, sdkError(err, "%s task %s", what, id)
		}
		if err := race.Again(ctx); err != nil {
			return nil, fmt.Errorf("store: %s task %s: %w", what, id, err)
		}
	}
}

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
