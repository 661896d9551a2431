package store

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"baton/internal/search"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Save implements task.Store. It costs 8 write units for a message that fits into a unit with what the change tells,
// 2 more for each write, of 10 to 25 with a message id, that moves fingerprints to the ledger, 6 more for each, of 10 or
// more, that moves words to the archive, which is also 2 read units or more; and one round trip, or two to move words.
func (s *Tasks) Save(ctx context.Context, was task.View, now task.Task, change task.Change) (any, error) {
	old := was.Token.(token)
	next := old.next(was, now)
	addWords(next.words, change.Message)
	changes, err := changeItems(change)
	if err != nil {
		return nil, err
	}
	if err := s.readPage(ctx, &next); err != nil {
		return nil, err
	}
	var further []map[string]types.AttributeValue
	if next.archiveDue() {
		words, err := s.archive(ctx, &next.head, change)
		if err != nil {
			return nil, err
		}
		further = append(further, words)
	}
	if page := next.spill(len(further) > 0); page != nil {
		further = append(further, page)
	}
	items := []types.TransactWriteItem{s.put(next.item(), asAttempt, map[string]types.AttributeValue{
		":was": binaryValue(old.attempt[:]),
	})}
	changes[0][attrAttempt] = binaryValue(next.attempt[:])
	for _, item := range changes {
		items = append(items, s.put(item, notThere, nil))
	}
	for _, item := range further {
		// The head's condition is theirs too: no write of the one without the other.
		items = append(items, types.TransactWriteItem{Put: &types.Put{TableName: &s.table, Item: stamp(item)}})
	}
	reasons, err := s.transact(ctx, "save", now.ID, items)
	if err != nil {
		return nil, err
	}
	// The change says that this attempt was made even when others have written since.
	if reasons != nil && !madeBy(reasons[0].Item, next.attempt) && !madeBy(reasons[1].Item, next.attempt) {
		return nil, task.ErrStale
	}
	s.leases.stored(now)
	return next, nil
}

// Renew implements task.Store, for 6 write units.
func (s *Tasks) Renew(ctx context.Context, was task.View, now task.Task) (any, error) {
	old := was.Token.(token)
	next := old.next(was, now)
	_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.table, Item: next.item(), ConditionExpression: new(asAttempt),
		ExpressionAttributeValues:           map[string]types.AttributeValue{":was": binaryValue(old.attempt[:])},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &failed) && madeBy(failed.Item, next.attempt):
		return next, nil
	case errors.As(err, &failed), isConflict(err):
		return nil, task.ErrStale
	case err != nil:
		return nil, sdkError(err, "renew lease of task %s", now.ID)
	}
	return next, nil
}

// next is the head that a write makes of this one. The token stays as it is: the write may have to be tried again.
func (t token) next(was task.View, now task.Task) token {
	next := t
	next.Task = now
	next.attempt = newAttempt()
	next.own = append(slices.Clip(t.own), now.Seen[len(was.Seen):]...)
	next.words = search.ParseSignature(bytes.Clone(t.words.Bytes()))
	return next
}

// readPage reads the newest page of the ledger for a token that is of a list. It may be newer than the token's head:
// then the save is stale.
func (s *Tasks) readPage(ctx context.Context, t *token) error {
	if t.spilled == 0 || t.page != nil {
		return nil
	}
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.table, ConsistentRead: new(true), Key: taskKey(t.ID, ledgerSortKey((t.spilled-1)/ledgerPage)),
	})
	if err != nil {
		return sdkError(err, "read ledger of task %s", t.ID)
	}
	t.page = unpackFingerprints((&logReader{item: out.Item}).bytes(attrFingerprints))
	return nil
}

// spill makes the head fit into a unit, and gives the page of the ledger that takes what does not, nil for none. What a
// page has no more room for than this goes, too, so that no write has two; and all goes if the write is dear anyway.
func (t *token) spill(dear bool) map[string]types.AttributeValue {
	if len(t.page) == ledgerPage {
		t.page = nil
	}
	room := ledgerPage - len(t.page)
	n := t.fit()
	if dear || len(t.own) >= room {
		n = min(len(t.own), room)
	}
	if n == 0 {
		return nil
	}
	t.page = append(slices.Clip(t.page), t.own[:n]...)
	t.own = t.own[n:]
	page := taskKey(t.ID, ledgerSortKey(t.spilled/ledgerPage))
	page[attrFingerprints] = binaryValue(packFingerprints(t.page))
	t.spilled += n
	t.fit()
	return page
}
