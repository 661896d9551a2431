// Package storetest fills the table tasks quickly, for tests and benchmarks of what needs many tasks: the writes are those
// of the real store, gathered and stored by batches instead of one by one. It also gives what the table's stream has.
//
// Only tests and benchmarks import it.
package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"baton/internal/store"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Seeder makes tasks at any time in the past. What it made is not in the table before Flush. For one goroutine.
type Seeder struct {
	*task.Service
	// Now is the time of the next write.
	Now time.Time

	client *dynamodb.Client
	table  string
	// items are what is not in the table yet, by partition and sort key.
	items map[string]map[string]item
}

type item = map[string]types.AttributeValue

// NewSeeder returns a seeder of an empty table.
func NewSeeder(client *dynamodb.Client, table string, now time.Time) *Seeder {
	s := &Seeder{Now: now, client: client, table: table, items: map[string]map[string]item{}}
	gathering := gathering{store.NewTasks(collector{client, s}, table)}
	s.Service = task.NewService(gathering, func() time.Time { return s.Now })
	return s
}

// Flush stores what was made since the last one. The seeder knows no more of it then.
func (s *Seeder) Flush(ctx context.Context) error {
	var batches [][]types.WriteRequest
	for _, partition := range s.items {
		for _, item := range partition {
			put := types.WriteRequest{PutRequest: &types.PutRequest{Item: item}}
			if n := len(batches); n > 0 && len(batches[n-1]) < 25 {
				batches[n-1] = append(batches[n-1], put)
			} else {
				batches = append(batches, []types.WriteRequest{put})
			}
		}
	}
	clear(s.items)
	next := make(chan []types.WriteRequest)
	errs := make(chan error, 8)
	var writers sync.WaitGroup
	for range cap(errs) {
		writers.Go(func() {
			for batch := range next {
				out, err := s.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
					RequestItems: map[string][]types.WriteRequest{s.table: batch},
				})
				if err == nil && len(out.UnprocessedItems) > 0 {
					err = fmt.Errorf("storetest: items were left unprocessed")
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	var failed error
	for _, batch := range batches {
		select {
		case next <- batch:
		case failed = <-errs:
		}
		if failed != nil {
			break
		}
	}
	close(next)
	writers.Wait()
	select {
	case failed = <-errs:
	default:
	}
	return failed
}

// gathering is a store that reads no messages: the seeder's writes are answered without them.
type gathering struct{ *store.Tasks }

func (g gathering) Load(ctx context.Context, id task.ID, _ bool) (task.View, error) {
	return g.Tasks.Load(ctx, id, true)
}

func (g gathering) LoadFor(ctx context.Context, v task.Viewer, id task.ID, _ bool) (task.View, error) {
	return g.Tasks.LoadFor(ctx, v, id, true)
}

// collector is a client whose transactions always commit, in the seeder's memory, from where heads and ledgers are read.
type collector struct {
	*dynamodb.Client
	seeder *Seeder
}

func (c collector) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	for _, action := range in.TransactItems {
		if action.Put != nil {
			p, s := keyOf(action.Put.Item)
			if c.seeder.items[p] == nil {
				c.seeder.items[p] = map[string]item{}
			}
			c.seeder.items[p][s] = action.Put.Item
			continue
		}
		p, s := keyOf(action.Update.Key) // the only update is the one that joins a context
		joined, ok := c.seeder.items[p][s]
		if !ok {
			return nil, fmt.Errorf("storetest: the context to join is not there any more")
		}
		for _, v := range joined {
			if set, ok := v.(*types.AttributeValueMemberBS); ok {
				added := action.Update.ExpressionAttributeValues[":task"].(*types.AttributeValueMemberBS)
				set.Value = append(set.Value, added.Value...)
			}
		}
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

func (c collector) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	p, s := keyOf(in.Key)
	return &dynamodb.GetItemOutput{Item: c.seeder.items[p][s]}, nil
}

// Query gives a stretch of a partition, all of it however long.
func (c collector) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	var from, to string
	var partition map[string]item
	for name, value := range in.ExpressionAttributeValues {
		switch v := value.(type) {
		case *types.AttributeValueMemberB:
			partition = c.seeder.items[string(v.Value)]
		case *types.AttributeValueMemberS:
			if name == ":from" {
				from = v.Value
			} else {
				to = v.Value
			}
		}
	}
	sorts := slices.Sorted(maps.Keys(partition))
	if in.ScanIndexForward != nil && !*in.ScanIndexForward {
		slices.Reverse(sorts)
	}
	out := &dynamodb.QueryOutput{}
	for _, s := range sorts {
		if from <= s && s <= to {
			out.Items = append(out.Items, partition[s])
		}
	}
	return out, nil
}

// keyOf is the key of an item: of all tables' items the attributes p and s.
func keyOf(i item) (partition, sort string) {
	return string(i["p"].(*types.AttributeValueMemberB).Value), i["s"].(*types.AttributeValueMemberS).Value
}
