package store

import (
	"context"
	"fmt"
	"time"

	"baton/internal/directory"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Directory is the table directory as directory.Store describes it. Safe for concurrent use.
type Directory struct {
	db    directoryDB
	table string
}

type directoryDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

var _ directory.Store = (*Directory)(nil)

// NewDirectory returns the directory in a table.
func NewDirectory(db directoryDB, table string) *Directory { return &Directory{db, table} }

// get reads one item as of the latest write; directory.ErrNotFound when there is none.
func (d *Directory) get(ctx context.Context, key dirItem) (dirItem, error) {
	out, err := d.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &d.table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, sdkError(err, "read %s", dirKeyName(key))
	}
	if out.Item == nil {
		return nil, directory.ErrNotFound
	}
	return out.Item, nil
}

// getAll reads items as of the latest writes, in the order of their keys; those that aren't there are nil.
func (d *Directory) getAll(ctx context.Context, keys []dirItem) ([]dirItem, error) {
	found := map[string]dirItem{}
	for start := 0; start < len(keys); start += batchSize {
		asked := types.KeysAndAttributes{
			ConsistentRead: aws.Bool(true), Keys: keys[start:min(start+batchSize, len(keys))],
		}
		for race := task.NewRace(dirPatience); ; {
			out, err := d.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
				RequestItems: map[string]types.KeysAndAttributes{d.table: asked},
			})
			if err != nil {
				return nil, sdkError(err, "read %d items from %s on", len(asked.Keys), dirKeyName(asked.Keys[0]))
			}
			for _, it := range out.Responses[d.table] {
				found[dirKeyText(it)] = it
			}
			if asked = out.UnprocessedKeys[d.table]; len(asked.Keys) == 0 {
				break
			}
			if err := race.Again(ctx); err != nil { // what was left out was throttled
				return nil, sdkError(err, "read %d items from %s on", len(asked.Keys), dirKeyName(asked.Keys[0]))
			}
		}
	}
	items := make([]dirItem, len(keys))
	for i, k := range keys {
		items[i] = found[dirKeyText(k)]
	}
	return items, nil
}

// list is a page of the items of a partition whose sort keys begin with a prefix, all when it is empty, after the given
// sort key.
func (d *Directory) list(ctx context.Context, partition, prefix, after string, limit int) (page []dirItem, more bool, err error) {
	in := dynamodb.QueryInput{
		TableName: &d.table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit)),
		KeyConditionExpression:    aws.String("p = :p"),
		ExpressionAttributeValues: dirItem{":p": dirText(partition)},
	}
	if prefix != "" {
		in.KeyConditionExpression = aws.String("p = :p and begins_with(s, :s)")
		in.ExpressionAttributeValues[":s"] = dirText(prefix)
	}
	if after != "" {
		in.ExclusiveStartKey = dirKey(partition, after)
	}
	out, err := d.db.Query(ctx, &in)
	if err != nil {
		return nil, false, sdkError(err, "list %s", partition)
	}
	return out.Items, out.LastEvaluatedKey != nil, nil
}

// dirPatience is how long transactions of others and throttles are waited out: directories change seldom.
const dirPatience = 2 * time.Second

// transact commits all writes or none. failed is the position of the first whose condition didn't hold, -1 when it
// committed. Transactions of others are waited out for about two seconds, then task.ErrConflict.
func (d *Directory) transact(ctx context.Context, writes ...types.TransactWriteItem) (failed int, err error) {
	for race := task.NewRace(dirPatience); ; {
		_, err := d.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
		if err == nil {
			return -1, nil
		}
		contended := false
		for i, reason := range cancellation(err) {
			switch code := *reason.Code; {
			case code == reasonCondition:
				return i, nil
			case isContention(code):
				contended = true
			}
		}
		if !contended {
			return -1, sdkError(err, "write %s", dirWriteName(writes[0]))
		}
		if err := race.Again(ctx); err != nil {
			return -1, fmt.Errorf("store: write %s: %w", dirWriteName(writes[0]), err)
		}
	}
}

// dirWriteName names a transaction by its first write.
func dirWriteName(w types.TransactWriteItem) string {
	switch {
	case w.Put != nil:
		return dirKeyName(w.Put.Item)
	case w.Update != nil:
		return dirKeyName(w.Update.Key)
	case w.Delete != nil:
		return dirKeyName(w.Delete.Key)
	}
	return dirKeyName(w.ConditionCheck.Key)
}

// put is a write of a whole item; values are those of the condition.
func (d *Directory) put(it dirItem, condition string, values dirItem) types.TransactWriteItem {
	put := types.Put{TableName: &d.table, Item: stamp(it), ExpressionAttributeValues: values}
	if condition != "" {
		put.ConditionExpression = &condition
	}
	return types.TransactWriteItem{Put: &put}
}

const (
	dirIsNew     = "attribute_not_exists(p)"
	dirUnchanged = "v = :v"
)

func dirVersionIs(v int) dirItem { return dirItem{":v": dirNumber(int64(v))} }
