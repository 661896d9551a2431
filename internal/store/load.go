package store

import (
	"context"
	"fmt"
	"slices"

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
	// page is the newest page of the ledger.
	page []task.Fingerprint
}

// Load implements task.Store. A short task costs 1 read unit, minimal 1 or 2 at any length, in one round trip; texts
// that are older than the newest messages cost one more each.
func (s *Tasks) Load(ctx context.Context, id task.ID, minimal bool) (task.View, error) {
	for range tornReads {
		v, torn, err := s.load(ctx, id, minimal)
		if err != nil || !torn {
			return v, err
		}
	}
	return task.View{}, fmt.Errorf("store: load task %s: %w: every read was torn", id, task.ErrUnavailable)
}

func (s *Tasks) load(ctx context.Context, id task.ID, minimal bool) (v task.View, torn bool, err error) {
	in := &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: new(true), ScanIndexForward: new(false), Limit: aws.Int32(firstQuery),
		KeyConditionExpression:    new(attrPartition + " = :p"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": binaryValue(partition(taskPartition, id))},
	}
	if minimal {
		in.KeyConditionExpression = new(attrPartition + " = :p AND " + attrSort + " >= :s")
		in.ExpressionAttributeValues[":s"] = stringValue(ledgerSort)
	}
	r := taskReader{minimal: minimal}
	for !r.enough() {
		out, err := s.db.Query(ctx, in)
		if err != nil {
			return v, false, tasksError("load", id, err)
		}
		for _, item := range out.Items {
			if err := r.take(item); err != nil {
				return v, false, err
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
	return v, false, s.completeView(ctx, &v)
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
	newest  int // the number of the newest change seen
	bytes   int // of the messages
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
	number, part, err := parseChangeSort(sort)
	if err != nil {
		return err
	}
	r.newest = max(r.newest, number)
	if part > 0 { // backwards, the further items of a change come before it
		r.parts = append(r.parts, item)
		return nil
	}
	c, err := parseChangeHead(item)
	if err != nil {
		return err
	}
	for _, further := range r.parts {
		_, part, _ := parseChangeSort((&logReader{item: further}).text(attrSort))
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
	if spilled != r.head.spilled || !r.minimal && r.newest != r.head.Version {
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
	for _, c := range slices.Backward(r.changes) {
		change, err := c.change()
		if err != nil {
			return task.View{}, err
		}
		if m := change.Message; m != nil {
			v.History = append(v.History, *m)
			fill(&v, change)
		}
	}
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

// completeView reads the texts that the view must show in full and that the newest messages don't hold.
func (s *Tasks) completeView(ctx context.Context, v *task.View) error {
	if v.FirstText == "" {
		v.FirstText = v.Request.Text
	}
	if v.LatestText == "" {
		v.LatestText = v.Result.Text
	}
	missing := map[int]bool{}
	missing[1] = v.Request.Cut && v.FirstText == v.Request.Text
	missing[v.ResultChange] = missing[v.ResultChange] || v.Result.Cut && v.LatestText == v.Result.Text
	missing[v.Artifacts] = missing[v.Artifacts] || v.Artifacts != 0 && v.Artifact == nil
	for number, wanted := range missing {
		if !wanted {
			continue
		}
		c, err := s.Change(ctx, v.ID, number)
		if err != nil {
			return err
		}
		fill(v, c)
	}
	return nil
}
