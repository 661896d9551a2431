package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A page ends, with a position to go on from, when it took this much: less than what a gateway waits for, and no more
// units than a partition gives in a moment.
const (
	pageTime  = 8 * time.Second
	pageUnits = 1000
)

// List implements task.Store. The tasks of each side and state are a query; their results are merged by the time of
// the last change, and one position serves all.
func (s *Tasks) List(ctx context.Context, q task.Query) (task.Page, error) {
	if q.After != nil && len(q.After) != positionSize {
		return task.Page{}, task.Invalid{{Field: "cursor", Message: "is not one of this list"}}
	}
	streams := s.streams(q)
	budget := newBudget()
	if err := fillAll(ctx, streams, budget); err != nil {
		return task.Page{}, err
	}
	var page task.Page
	shown := map[task.ID]bool{}
	last := q.After
	for {
		next := newest(streams)
		if next == nil {
			return page, nil // the end of all of them
		}
		if len(page.Items) == q.Limit || budget.spent() && last != nil {
			page.Next = last
			return page, nil
		}
		h := next.buffer[0]
		next.buffer = next.buffer[1:]
		last = position(h.UpdatedAt, h.ID)
		if matches(q, h.Task) && !shown[h.ID] {
			shown[h.ID] = true // the index is behind the table: a task may still stand at its old place too
			page.Items = append(page.Items, h.Task)
		}
		if len(next.buffer) == 0 {
			if err := next.fill(ctx, budget); err != nil {
				return task.Page{}, err
			}
		}
	}
}

// stream is one query of an index, newest first.
type stream struct {
	store  *Tasks
	in     *dynamodb.QueryInput
	buffer []head
	done   bool
}

// streams are the queries that together have all that q may ask for.
func (s *Tasks) streams(q task.Query) (streams []*stream) {
	codes := codesOf(q.State)
	limit := q.Limit + 1
	if len(codes) > 2 {
		limit = q.Limit/7 + 3 // a page's tasks rarely are of one state
	}
	from := []byte{}
	if !q.Since.IsZero() {
		from = binary.BigEndian.AppendUint64(from, uint64(q.Since.UnixMilli()+1))
	}
	to := q.After
	if to == nil {
		to = bytes.Repeat([]byte{0xff}, positionSize)
	}
	for _, side := range []struct {
		index, key string
		skip       task.Direction
	}{{receivedIndex, attrReceived, task.Outbound}, {sentIndex, attrSent, task.Inbound}} {
		if q.Direction == side.skip {
			continue
		}
		for _, code := range codes {
			in := &dynamodb.QueryInput{
				TableName: &s.table, IndexName: aws.String(side.index), ScanIndexForward: new(false),
				Limit:                  aws.Int32(int32(limit)),
				KeyConditionExpression: new(side.key + " = :key AND " + attrUpdated + " < :to"),
				ExpressionAttributeValues: map[string]types.AttributeValue{
					":key": binaryValue(indexKey(q.Identity, code)), ":to": binaryValue(to),
				},
			}
			if len(from) > 0 {
				// BETWEEN includes both ends; the upper one is taken out of the result.
				in.KeyConditionExpression = new(side.key + " = :key AND " + attrUpdated + " BETWEEN :from AND :to")
				in.ExpressionAttributeValues[":from"] = binaryValue(from)
				if bytes.Compare(from, to) > 0 {
					continue
				}
			}
			streams = append(streams, &stream{store: s, in: in})
		}
	}
	return streams
}

// fill reads until there is something, or nothing any more.
func (s *stream) fill(ctx context.Context, b *budget) error {
	for len(s.buffer) == 0 && !s.done {
		out, err := s.store.db.Query(ctx, s.in)
		if err != nil {
			return tasksError("list", task.ID{}, err)
		}
		b.add(len(out.Items))
		to := s.in.ExpressionAttributeValues[":to"].(*types.AttributeValueMemberB).Value
		for _, item := range out.Items {
			h, err := parseTask(item)
			if err != nil {
				return err
			}
			if !bytes.Equal(position(h.UpdatedAt, h.ID), to) {
				s.buffer = append(s.buffer, h)
			}
		}
		s.in.ExclusiveStartKey = out.LastEvaluatedKey
		s.in.Limit = aws.Int32(min(2**s.in.Limit, 250)) // one query reads at most 1 MB
		s.done = len(out.LastEvaluatedKey) == 0
	}
	return nil
}

// fillAll is the first read of every stream, side by side.
func fillAll(ctx context.Context, streams []*stream, b *budget) error {
	errs := make([]error, len(streams))
	var wg sync.WaitGroup
	for i, s := range streams {
		wg.Go(func() { errs[i] = s.fill(ctx, b) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// newest is the stream whose next task changed last, nil when all are at their end.
func newest(streams []*stream) (best *stream) {
	var at []byte
	for _, s := range streams {
		if len(s.buffer) == 0 {
			continue
		}
		if p := position(s.buffer[0].UpdatedAt, s.buffer[0].ID); best == nil || bytes.Compare(p, at) > 0 {
			best, at = s, p
		}
	}
	return best
}

// matches applies the filters that no index answers.
func matches(q task.Query, t task.Task) bool {
	return (q.Requester == "" || q.Requester == t.Caller.Handle) &&
		(q.Worker == "" || q.Worker == t.Target.Handle) &&
		(q.Context.IsZero() || q.Context == t.Context) &&
		(q.CreatedSince.IsZero() || !t.CreatedAt.Before(q.CreatedSince))
}

// budget is what a page may still cost.
type budget struct {
	until time.Time
	mu    sync.Mutex
	units float64
}

func newBudget() *budget { return &budget{until: time.Now().Add(pageTime)} }

// add counts heads read from an index: about 1 KB each, half a unit for 4 KB.
func (b *budget) add(heads int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.units += float64(heads) / 8
}

func (b *budget) spent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.units > pageUnits || time.Now().After(b.until)
}

// Claimable implements task.Store.
func (s *Tasks) Claimable(ctx context.Context, worker task.ID, limit int, now time.Time) ([]task.View, error) {
	var views []task.View
	for _, code := range []byte{codeSubmitted, codeLeased} {
		in := &dynamodb.QueryInput{
			TableName: &s.table, IndexName: aws.String(receivedIndex), Limit: aws.Int32(int32(limit)),
			KeyConditionExpression:    new(attrReceived + " = :key"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":key": binaryValue(indexKey(worker, code))},
		}
		for found := 0; ; {
			out, err := s.db.Query(ctx, in)
			if err != nil {
				return nil, tasksError("list claimable", worker, err)
			}
			for _, item := range out.Items {
				h, err := parseTask(item)
				if err != nil {
					return nil, err
				}
				if h.Claimable(now) && found < limit {
					found++
					views = append(views, task.View{Task: h.Task, Token: token{head: h}, Minimal: true})
				}
			}
			if len(out.LastEvaluatedKey) == 0 || found == limit {
				break
			}
			in.ExclusiveStartKey = out.LastEvaluatedKey
		}
	}
	slices.SortStableFunc(views, func(a, b task.View) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
	return views, nil
}
