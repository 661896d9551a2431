package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Log is the organizations' event logs, in the table events: each a dense sequence of entries kept for task.EventsKept,
// and a head that says how long it is and how far its bus got. All methods are safe for concurrent use, by many processes.
//
// Errors are task.ErrUnavailable when storage can't be reached or throttles, and ErrRefused for what it will never take.
type Log struct {
	db      logDB
	table   string
	changes Changes
	now     func() time.Time
}

var _ task.EventLog = (*Log)(nil)

type logDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
}

// Changes is where the texts are that are too long for the log.
type Changes interface {
	// Change reads one change of a task, whole. task.ErrNotFound when there is none.
	Change(ctx context.Context, id task.ID, number int) (task.Change, error)
}

// NewLog returns the logs in a table. changes may be nil for callers that never ask for Texts.
func NewLog(db logDB, table string, changes Changes, now func() time.Time) *Log {
	return &Log{db, table, changes, now}
}

const (
	// markersKept outlives every repetition of a stream record (24 h) and every replay of a failed one.
	markersKept = 31 * 24 * time.Hour
	// segment is how many entries share a partition.
	segment = 4096
)

// Head is how far an organization's log and its bus are.
type Head struct {
	Organization task.ID
	New          bool      // there is no entry yet, and nothing stored
	Sequence     int64     // of the newest entry
	LoggedAt     time.Time // of the newest entry
	// ParkedFrom is the first entry that the bus did not take: it and all after it wait. 0 when nothing waits.
	ParkedFrom int64
	// BusOK is the newest entry of which it is certain that the bus was there when it was sent.
	BusOK int64
	// BusMade is when the bus was made that was last seen, zero when none was seen yet. A bus made at another time is
	// another bus.
	BusMade time.Time
	// Checked is what Sequence was at the last look at the bus, at CheckedAt.
	Checked   int64
	CheckedAt time.Time
}

// Head reads the head of an organization's log, as of the latest append.
func (l *Log) Head(ctx context.Context, organization task.ID) (Head, error) {
	return l.head(ctx, organization, true)
}

func (l *Log) head(ctx context.Context, organization task.ID, consistent bool) (Head, error) {
	out, err := l.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &l.table, Key: logHeadKey(organization), ConsistentRead: &consistent,
	})
	if err != nil {
		return Head{}, sdkError(err, "read log head of %s", organization)
	}
	return parseHead(organization, out.Item)
}

// headUpdate changes a head under the condition that it is still as the caller read it; ok is false, and the head as it
// is now returned, when it isn't.
func (l *Log) headUpdate(ctx context.Context, what string, was Head, update, condition string, values map[string]types.AttributeValue) (now Head, ok bool, err error) {
	update = strings.Replace(update, "SET ", "SET "+attrSchema+" = :schema, ", 1)
	values[":schema"] = number(schema)
	out, err := l.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &l.table, Key: logHeadKey(was.Organization),
		UpdateExpression: &update, ConditionExpression: &condition, ExpressionAttributeValues: values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &failed):
		now, err = parseHead(was.Organization, failed.Item)
		return now, false, err
	case err != nil:
		return Head{}, false, sdkError(err, "%s of %s", what, was.Organization)
	}
	now, err = parseHead(was.Organization, out.Attributes)
	return now, true, err
}

// asRead is the condition that an attribute of the head is the one read: absent where that was zero.
func asRead(attribute, value string, zero bool) string {
	if zero {
		return "attribute_not_exists(" + attribute + ")"
	}
	return fmt.Sprintf("%s = %s", attribute, value)
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}
