package store

import (
	"context"
	"strconv"
	"time"

	"baton/internal/directory"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var _ directory.Counts = (*Directory)(nil)

// Attributes of counters: n sends, o open tasks, u when those were counted in milliseconds.

// CountSends implements directory.Counts.
func (d *Directory) CountSends(
	ctx context.Context, kind directory.CountKind, identity task.ID, start time.Time, length time.Duration, n int,
) (total int, err error) {
	out, err := d.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:        &d.table,
		Key:              dirKey(countMark+identity.String(), string(kind)+"#"+strconv.FormatInt(start.Unix(), 10)),
		UpdateExpression: aws.String("add n :n set x = :x, " + attrSchema + " = :schema"),
		ExpressionAttributeValues: dirItem{
			":schema": number(schema), ":n": dirNumber(int64(n)), ":x": dirNumber(start.Add(length).Add(time.Hour).Unix()),
		},
		ReturnValues: types.ReturnValueUpdatedNew,
	})
	if err != nil {
		return 0, sdkError(err, "count sends %s %s", kind, identity)
	}
	return int(dirNumberOf(out.Attributes["n"])), nil
}

func openKey(worker task.ID) dirItem { return dirKey(countMark+worker.String(), "open") }

// CountReceived implements directory.Counts.
func (d *Directory) CountReceived(ctx context.Context, worker task.ID, n int) (directory.Received, error) {
	out, err := d.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &d.table, Key: openKey(worker),
		UpdateExpression:          aws.String("add n :n set " + attrSchema + " = :schema"),
		ExpressionAttributeValues: dirItem{":n": dirNumber(int64(n)), ":schema": number(schema)},
		ReturnValues:              types.ReturnValueAllNew,
	})
	if err != nil {
		return directory.Received{}, sdkError(err, "count what %s received", worker)
	}
	return directory.Received{
		Open: int(dirNumberOf(out.Attributes["o"])), At: dirTime(dirNumberOf(out.Attributes["u"])),
		Since: int(dirNumberOf(out.Attributes["n"])),
	}, nil
}

// SetOpen implements directory.Counts.
func (d *Directory) SetOpen(ctx context.Context, worker task.ID, open int, at time.Time) error {
	_, err := d.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &d.table, Key: openKey(worker),
		UpdateExpression: aws.String("set o = :o, u = :u, n = :none, " + attrSchema + " = :schema"),
		ExpressionAttributeValues: dirItem{
			":schema": number(schema), ":o": dirNumber(int64(open)), ":u": dirNumber(at.UnixMilli()), ":none": dirNumber(0),
		},
	})
	if err != nil {
		return sdkError(err, "note open tasks of %s", worker)
	}
	return nil
}
