package store

import (
	"bytes"
	"context"

	"baton/internal/search"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Create implements task.Store. It costs 8 write units for a message that fits into a unit with what the change tells,
// and one round trip.
func (s *Tasks) Create(ctx context.Context, t task.Task, first task.Change, join bool) error {
	h := head{Task: t, attempt: newAttempt(), own: t.Seen, words: search.NewSignature(newSignature)}
	addWords(h.words, first.Message)
	h.fit()
	changes, err := changeItems(first)
	if err != nil {
		return err
	}
	items := []types.TransactWriteItem{s.put(h.item(), notThere, nil)}
	for _, item := range changes {
		items = append(items, s.put(item, notThere, nil))
	}
	pair := pairOf(t)
	if join {
		items = append(items, types.TransactWriteItem{Update: &types.Update{
			TableName: &s.table, Key: contextKey(t.Context),
			UpdateExpression: new(joinUpdate), ConditionExpression: new(joinsOK),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":pair": binaryValue(pair), ":task": taskSet(t.ID), ":most": number(task.MaxTasks), ":schema": number(schema),
			},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}})
	} else {
		conversation := stamp(contextKey(t.Context))
		conversation[attrPair] = binaryValue(pair)
		conversation[attrTasks] = taskSet(t.ID)
		items = append(items, s.put(conversation, notThere, nil))
	}
	reasons, err := s.transact(ctx, "create", t.ID, items)
	if err != nil || reasons == nil {
		return err
	}
	if old := reasons[0].Item; old != nil {
		if madeBy(old, h.attempt) {
			return nil
		}
		return task.ErrExists
	}
	// A change can't be there without its head, nor a new context's id be taken: what failed is joining.
	old := logReader{item: reasons[len(reasons)-1].Item}
	if !bytes.Equal(old.bytes(attrPair), pair) {
		return task.ErrContextNotFound
	}
	return task.ErrContextFull
}

// madeBy says whether an item is of an attempt: a write whose answer was lost meets itself so.
func madeBy(item map[string]types.AttributeValue, a attempt) bool {
	r := logReader{item: item}
	return bytes.Equal(r.bytes(attrAttempt), a[:])
}

// pairOf is the same for both directions.
func pairOf(t task.Task) []byte {
	a, b := t.Caller.Identity[:], t.Target.Identity[:]
	if bytes.Compare(a, b) > 0 {
		a, b = b, a
	}
	return append(append([]byte{}, a...), b...)
}

func taskSet(ids ...task.ID) types.AttributeValue {
	set := &types.AttributeValueMemberBS{}
	for _, id := range ids {
		set.Value = append(set.Value, id[:])
	}
	return set
}
