package store

import (
	"context"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Newest implements task.EventLog: half a read unit, one when it must be exact.
func (l *Log) Newest(ctx context.Context, organization task.ID, exact bool) (int64, error) {
	head, err := l.head(ctx, organization, exact)
	return head.Sequence, err
}

// First implements task.EventLog by binary search: sequences are dense, and the time of logging never falls. Entries that
// are gone are older than any that isn't.
func (l *Log) First(ctx context.Context, organization task.ID, since time.Time) (int64, error) {
	head, err := l.Head(ctx, organization)
	if err != nil {
		return 0, err
	}
	if kept := l.now().Add(-task.EventsKept); since.Before(kept) {
		since = kept
	}
	since = since.Truncate(time.Second)
	if head.Sequence == 0 || head.LoggedAt.Before(since) {
		return head.Sequence + 1, nil
	}
	// The newest is late enough. Most logs are asked for from their beginning, and most of these are young.
	low, high := int64(1), head.Sequence
	for probe := low; low < high; probe = (low + high) / 2 {
		at, there, err := l.loggedAt(ctx, organization, probe)
		if err != nil {
			return 0, err
		}
		if there && !at.Before(since) {
			high = probe
		} else {
			low = probe + 1
		}
	}
	return low, nil
}

// loggedAt is when an entry was logged that is not behind the newest; there is false when it is gone.
func (l *Log) loggedAt(ctx context.Context, organization task.ID, sequence int64) (at time.Time, there bool, err error) {
	key := logEntryKey(organization, sequence)
	out, err := l.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.table, Key: key, ConsistentRead: new(true)})
	if err != nil {
		return time.Time{}, false, sdkError(err, "read log of %s", organization)
	}
	item := out.Item
	if item == nil {
		// Gone, or just being appended: a transaction becomes visible item by item, but not to another one.
		if item, err = l.getSettled(ctx, organization, key); err != nil {
			return time.Time{}, false, err
		}
	}
	if item == nil {
		return time.Time{}, false, nil
	}
	r := logReader{item: item}
	at = r.seconds(attrExpires).Add(-task.EventsKept)
	return at, true, r.err
}

// getSettled reads an item by a transaction, which waits for those that write it.
func (l *Log) getSettled(ctx context.Context, organization task.ID, key map[string]types.AttributeValue) (map[string]types.AttributeValue, error) {
	for race := task.NewRace(task.Patience); ; {
		out, err := l.db.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
			{Get: &types.Get{TableName: &l.table, Key: key}},
		}})
		if err == nil {
			return out.Responses[0].Item, nil
		}
		if reasons := cancellation(err); len(reasons) != 1 || !isContention(*reasons[0].Code) {
			return nil, sdkError(err, "read log of %s", organization)
		}
		if err := race.Again(ctx); err != nil {
			return nil, sdkError(err, "read log of %s", organization)
		}
	}
}
