package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	// tornReads is how often a read is made again that saw a part of a write only. Every one of them means that
	// another write was accepted in between.
	tornReads = 20
	// firstQuery is how many items the first query of a task asks for: the head, the ledger, and a page of messages.
	firstQuery = task.NewestMessages + 8
)

// token is what Save must know of the task as it was read.
type token struct {
	head
	// page is the newest page of the ledger. It is not there in a token of a list, see Claimable.
	page []task.Fingerprint
}

// Load implements task.Store. A short task costs 1 read unit, minimal 1 or 2 at any length, in one round trip; texts
// that are older than the newest messages cost one more, all at once.
func (s *Tasks) Load(ctx context.Context, id task.ID, minimal bool) (task.View, error) {
	return s.loadFor(ctx, id, minimal, func(task.Task) bool { return true })
}

// LoadFor implements task.Store. Of a task that the viewer may not see the first query is all that is read, and nothing of it
// is looked at but the head: how long a conversation is must not be told by the time that an answer takes.
func (s *Tasks) LoadFor(ctx context.Context, viewer task.Viewer, id task.ID, minimal bool) (task.View, error) {
	return s.loadFor(ctx, id, minimal, func(t task.Task) bool { return t.VisibleTo(viewer) })
}

func (s *Tasks) loadFor(ctx context.Context, id task.ID, minimal bool, visible func(task.Task) bool) (task.View, error) {
	for range tornReads {
		v, torn, err := s.load(ctx, id, minimal, visible)
		if err != nil || !torn {
			return v, err
		}
	}
	return task.View{}, fmt.Errorf("store: load task %s: %w: every read was torn", id, task.ErrUnavailable)
}

func (s *Tasks) load(ctx context.Context, id task.ID, minimal bool, visible func(task.Task) bool) (v task.View, torn bool, err error) {
	in := &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: new(true), ScanIndexForward: new(false), Limit: aws.Int32(firstQuery),
		KeyConditionExpression: new(attrPartition + " = :p AND " + attrSort + " BETWEEN :from AND :to"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":p": binaryValue(partition(taskPartition, id)), ":from": stringValue(changeSort), ":to": stringValue(headSort),
		},
	}
	if minimal {
		in.ExpressionAttributeValues[":from"] = stringValue(ledgerSort)
	}
	r := taskReader{minimal: minimal}
	for !r.enough() {
		out, err := s.db.Query(ctx, in)
		if err != nil {
			return v, false, sdkError(err, "load task %s", id)
		}
		for _, item := range out.Items {
			if err := r.take(item); err != nil {
				return v, false, err
			}
			if r.there && !visible(r.head.Task) { // the head comes first
				return v, false, task.ErrNotFound
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			break
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
	if !r.there {
		// Within one query what is older than the head can't be there without it.
		return v, len(r.changes) > 0, notFoundUnless(len(r.changes) > 0)
	}
	if r.torn() {
		return v, true, nil
	}
	v, err = r.view()
	if err != nil || minimal {
		return v, false, err
	}
	return v, false, s.complete(ctx, &v, r.changes)
}

func notFoundUnless(torn bool) error {
	if torn {
		return nil
	}
	return task.ErrNotFound
}

// taskReader puts a task together from its items, the newest first.
type taskReader struct {
	minimal bool
	there   bool
	head    head
	ledger  [][]task.Fingerprint // the newest page first
	changes []changeParts        // the newest first, whole ones
	parts   []map[string]types.AttributeValue
	loose   bool // there are further items of a change without its first
	bytes   int  // of the messages
	count   int
}

func (r *taskReader) take(item map[string]types.AttributeValue) error {
	sort := (&logReader{item: item}).text(attrSort)
	switch {
	case sort == headSort:
		h, err := parseTask(item)
		r.head, r.there = h, err == nil
		return err
	case sort[0] == ledgerSort[0]:
		r.ledger = append(r.ledger, unpackFingerprints((&logReader{item: item}).bytes(attrFingerprints)))
		return nil
	}
	_, part, err := parseChangeSort(sort)
	if err != nil {
		return err
	}
	if part > 0 { // backwards, the further items of a change come before it
		r.parts = append(r.parts, item)
		return nil
	}
	c, err := parseChangeHead(item)
	if err != nil {
		return err
	}
	for _, further := range r.parts {
		number, part, _ := parseChangeSort((&logReader{item: further}).text(attrSort))
		if number != c.Number {
			r.loose = true
			continue
		}
		if err := c.addPart(further, part); err != nil {
			return err
		}
	}
	r.parts = nil
	if c.Message != nil {
		r.count++
		for _, piece := range c.pieces {
			r.bytes += len(piece)
		}
	}
	r.changes = append(r.changes, c)
	return nil
}

// enough says whether there is more than an answer carries already. (Bodies are compressed: no more of the answer can
// be known before they are put together.)
func (r *taskReader) enough() bool {
	return r.count > task.NewestMessages || r.bytes > task.NewestBytes
}

// torn says whether the items are not of one moment: a query is not a snapshot of a transaction (AWS, "Amazon DynamoDB
// Transactions: How it works").
func (r *taskReader) torn() bool {
	spilled := 0
	for _, page := range r.ledger {
		spilled += len(page)
	}
	if spilled != r.head.spilled || r.loose {
		return true
	}
	if !r.minimal && (len(r.changes) == 0 || r.changes[0].Number != r.head.Version) {
		return true
	}
	for _, c := range r.changes {
		if !c.whole() {
			return true
		}
	}
	return false
}

func (r *taskReader) view() (task.View, error) {
	t := token{head: r.head}
	if len(r.ledger) > 0 {
		t.page = r.ledger[0]
		var all []task.Fingerprint
		for _, page := range slices.Backward(r.ledger) {
			all = append(all, page...)
		}
		r.head.Seen = append(all, r.head.own...)
	}
	v := task.View{Task: r.head.Task, Token: t, Minimal: r.minimal}
	if r.minimal {
		return v, nil
	}
	// Bodies are compressed: only what the answer carries is put together, a hundred large ones may be in a query.
	bytes := 0
	for _, c := range r.changes {
		if c.Message == nil {
			continue
		}
		if len(v.History) == task.NewestMessages || bytes > task.NewestBytes {
			break
		}
		change, err := c.change()
		if err != nil {
			return task.View{}, err
		}
		bytes += change.Message.Size()
		v.History = append(v.History, *change.Message)
		fill(&v, change)
	}
	slices.Reverse(v.History)
	v.History, _ = task.Newest(v.History)
	v.Truncated = len(v.History) < v.Messages
	return v, nil
}

// fill takes from a change what the view shows of it outside the history.
func fill(v *task.View, c task.Change) {
	if c.Message == nil {
		return
	}
	text, _ := c.Message.Text()
	if c.Number == 1 {
		v.FirstText = text
	}
	if c.Number == v.ResultChange {
		v.LatestText = text
	}
	if c.Number == v.Artifacts {
		v.Artifact = c.Message
	}
}

// complete adds the texts and the artifacts that the view shows in full and that its messages don't hold, from the
// changes that were read, or by a read of each, all at once.
func (s *Tasks) complete(ctx context.Context, v *task.View, read []changeParts) error {
	var missing []int
	want := func(number int, wanted bool) {
		if wanted && !slices.Contains(missing, number) {
			missing = append(missing, number)
		}
	}
	want(1, v.FirstText == "" && v.Request.Cut)
	want(v.ResultChange, v.LatestText == "" && v.Result.Cut)
	want(v.Artifacts, v.Artifact == nil && v.Artifacts != 0)
	found, errs := make([]task.Change, len(missing)), make([]error, len(missing))
	var reads sync.WaitGroup
	for i, number := range missing {
		at := slices.IndexFunc(read, func(c changeParts) bool { return c.Number == number })
		if at >= 0 {
			found[i], errs[i] = read[at].change()
			continue
		}
		reads.Go(func() { found[i], errs[i] = s.Change(ctx, v.ID, number) })
	}
	reads.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, c := range found {
		fill(v, c)
	}
	if !v.Request.Cut {
		v.FirstText = v.Request.Text
	}
	if !v.Result.Cut {
		v.LatestText = v.Result.Text
	}
	return nil
}
