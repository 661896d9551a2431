package store

import (
	"context"
	"fmt"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Delete takes an organization's whole log away: its entries, then its head. Repeated, it goes on where it was cut off.
// The markers stay until they expire: they hold no text, and keep what was told from being told again.
func (l *Log) Delete(ctx context.Context, organization task.ID) error {
	head, err := l.Head(ctx, organization)
	if err != nil || head.New {
		return err
	}
	var keys []map[string]types.AttributeValue
	for from := int64(1); from <= head.Sequence; {
		// By segments, as they are read; gaps are entries that expired.
		last := from/segment*segment + segment - 1
		entries, err := l.segment(ctx, organization, from, last, segment)
		if err != nil {
			return err
		}
		for _, e := range entries {
			keys = append(keys, logEntryKey(organization, e.Sequence))
		}
		from = last + 1
	}
	return l.deleteAll(ctx, organization, append(keys, logHeadKey(organization)))
}

// deleteAll deletes items in their order, so that the head is the last one.
func (l *Log) deleteAll(ctx context.Context, organization task.ID, keys []map[string]types.AttributeValue) error {
	const batch = 25 // of BatchWriteItem (AWS, "Service quotas")
	for len(keys) > 0 {
		n := min(batch, len(keys))
		var writes []types.WriteRequest
		for _, key := range keys[:n] {
			writes = append(writes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}})
		}
		for race := newLogRace(); len(writes) > 0; {
			out, err := l.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{l.table: writes},
			})
			if err != nil {
				return logError("delete log", organization, err)
			}
			if writes = out.UnprocessedItems[l.table]; len(writes) == 0 {
				break
			}
			if err := race.again(ctx); err != nil {
				return fmt.Errorf("store: delete log of %s: %w", organization, err)
			}
		}
		keys = keys[n:]
	}
	return nil
}
