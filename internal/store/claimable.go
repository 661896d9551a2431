package store

import (
	"context"
	"slices"
	"sync"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Claimable implements task.Store. It costs an eighth of a read unit for each task that is given, half a unit at least for
// each of two queries, and an eighth for each leased task when it is time to look for leases that ran out: see leases.
func (s *Tasks) Claimable(ctx context.Context, worker task.ID, limit int, now time.Time) ([]task.View, error) {
	codes := []byte{codeSubmitted, codeFree}
	made, due := s.leases.due(worker, now)
	if due {
		codes = append(codes, codeLeased)
	}
	var views []task.View
	for _, code := range codes {
		in := &dynamodb.QueryInput{
			TableName: &s.table, IndexName: aws.String(receivedIndex), Limit: aws.Int32(int32(limit)),
			KeyConditionExpression:    new(attrReceived + " = :key"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":key": binaryValue(indexKey(worker, code))},
		}
		next := now.Add(unseenLease)
		for found := 0; ; {
			out, err := s.db.Query(ctx, in)
			if err != nil {
				return nil, sdkError(err, "list claimable tasks of %s", worker)
			}
			for _, item := range out.Items {
				h, err := parseTask(item)
				if err != nil {
					return nil, err
				}
				if h.Lease != nil && h.Lease.ExpiresAt.Before(next) {
					next = h.Lease.ExpiresAt
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
		if code == codeLeased {
			s.leases.looked(worker, next, made)
		}
	}
	slices.SortStableFunc(views, func(a, b task.View) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
	return views, nil
}

// leases remembers until when none of a worker's leases can run out, so that not every claim reads all of them: until the
// earliest end that was seen, or until one that was not seen yet could end. A lease only ever ends later than was seen,
// or is another one. Safe for concurrent use.
type leases struct {
	mu      sync.Mutex
	workers map[task.ID]nextLook
}

type nextLook struct {
	at   time.Time
	made int // leases stored here, to notice those that a look may have missed
}

const (
	// unseenLease is how long a lease lasts at least that a look at the index may have missed: the shortest is 30 s
	// (contract section 2, "Claim"), and the index is up to 2 s behind.
	unseenLease = 28 * time.Second
	// mostWorkers bounds what is remembered. All is forgotten then: that costs a look.
	mostWorkers = 1000
)

// due says whether it is time to look, and how many leases were made here before.
func (l *leases) due(worker task.ID, now time.Time) (made int, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.workers[worker]
	return w.made, !w.at.After(now)
}

// looked notes when to look next, unless a lease was made here meanwhile.
func (l *leases) looked(worker task.ID, next time.Time, made int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.workers[worker]; w.made == made {
		l.put(worker, nextLook{next, made})
	}
}

// stored notes a lease that was stored here, however short it is.
func (l *leases) stored(t task.Task) {
	if t.Lease == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.workers[t.Target.Identity]
	w.made++
	if t.Lease.ExpiresAt.Before(w.at) {
		w.at = t.Lease.ExpiresAt
	}
	l.put(t.Target.Identity, w)
}

func (l *leases) put(worker task.ID, w nextLook) {
	if l.workers == nil || len(l.workers) >= mostWorkers {
		l.workers = map[task.ID]nextLook{}
	}
	l.workers[worker] = w
}
