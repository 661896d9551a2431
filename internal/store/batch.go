package store

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// batchSize is how many items a BatchGetItem takes at most (AWS, "BatchGetItem").
const batchSize = 100

// batch reads items by their keys, in any order; those that are not there are left out.
func (s *Tasks) batch(ctx context.Context, consistent bool, keys []map[string]types.AttributeValue) ([]map[string]types.AttributeValue, error) {
	chunks := slices.Collect(slices.Chunk(keys, batchSize))
	found, errs := make([][]map[string]types.AttributeValue, len(chunks)), make([]error, len(chunks))
	var reads sync.WaitGroup
	for i, chunk := range chunks {
		reads.Go(func() { found[i], errs[i] = s.batchOnce(ctx, consistent, chunk) })
	}
	reads.Wait()
	return slices.Concat(found...), errors.Join(errs...)
}

func (s *Tasks) batchOnce(ctx context.Context, consistent bool, keys []map[string]types.AttributeValue) (items []map[string]types.AttributeValue, err error) {
	wanted := map[string]types.KeysAndAttributes{s.table: {Keys: keys, ConsistentRead: &consistent}}
	for race := task.NewRace(task.Patience); ; {
		out, err := s.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: wanted, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			return nil, sdkError(err, "read %d items of tasks", len(keys))
		}
		spend(ctx, allUnits(out.ConsumedCapacity))
		items = append(items, out.Responses[s.table]...)
		if wanted = out.UnprocessedKeys; len(wanted) == 0 {
			return items, nil
		}
		if err := race.Again(ctx); err != nil { // what was left out was throttled
			return nil, sdkError(err, "read %d items of tasks, of which some were left out", len(keys))
		}
	}
}

// heads reads the heads of tasks, newest change first.
func (s *Tasks) heads(ctx context.Context, consistent bool, ids []task.ID) (heads []head, err error) {
	var keys []map[string]types.AttributeValue
	for _, id := range ids {
		keys = append(keys, taskKey(id, headSort))
	}
	items, err := s.batch(ctx, consistent, keys)
	for _, item := range items {
		h, wrong := parseTask(item)
		if err = errors.Join(err, wrong); wrong == nil {
			heads = append(heads, h)
		}
	}
	slices.SortFunc(heads, func(a, b head) int { return bytes.Compare(b.position(), a.position()) })
	return heads, err
}

// contextHeads reads the heads of a context's tasks, newest change first; none for a context that isn't there, or not of
// the identity, unless that is zero: whoever is not of it learns nothing by how much is read.
func (s *Tasks) contextHeads(ctx context.Context, id, identity task.ID) ([]head, error) {
	items, err := s.batch(ctx, true, []map[string]types.AttributeValue{contextKey(id)})
	if err != nil || len(items) == 0 && !identity.IsZero() {
		return nil, err
	}
	if len(items) == 0 { // who may see one is told by its heads: whoever looks for all waits for as much as if there were one
		return s.heads(ctx, true, []task.ID{id})
	}
	if pair := (&logReader{item: items[0]}).bytes(attrPair); !identity.IsZero() && !isOfPair(pair, identity) {
		return nil, nil
	}
	return s.heads(ctx, true, tasksOf(items[0]))
}

// isOfPair says whether an identity is one of the two that pairOf put together.
func isOfPair(pair []byte, identity task.ID) bool {
	return len(pair) == 2*len(identity) && (task.ID(pair[:len(identity)]) == identity || task.ID(pair[len(identity):]) == identity)
}

// tasksOf are the tasks of a context.
func tasksOf(item map[string]types.AttributeValue) (ids []task.ID) {
	set, _ := item[attrTasks].(*types.AttributeValueMemberBS)
	if set == nil {
		return nil
	}
	for _, id := range set.Value {
		ids = append(ids, task.ID(id))
	}
	return ids
}
