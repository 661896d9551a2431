package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"baton/internal/envelope"
	"baton/internal/task"
	"baton/internal/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Deliveries is what was and is sent to webhooks, in the table events: a hook's deliveries are a partition, in the order
// of the events. Safe for concurrent use.
type Deliveries struct {
	db    deliveriesDB
	table string
	log   *Log
	now   func() time.Time
}

type deliveriesDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

var (
	_ webhook.DeliveryStore = (*Deliveries)(nil)
	_ webhook.DueStore      = (*Deliveries)(nil)
	_ webhook.Bodies        = (*Deliveries)(nil)
)

// NewDeliveries returns the deliveries in a table, of which log is needed for Body alone.
func NewDeliveries(db deliveriesDB, table string, log *Log, now func() time.Time) *Deliveries {
	return &Deliveries{db, table, log, now}
}

// The attributes of a delivery, besides those of every item of the table.
const (
	deliveryRecordAttr = "j" // what is only carried, as JSON
	deliveryVersion    = "v"
	deliveryDue        = headWatch // the minute in which a long pause ends; key of the index watch
)

func deliveryPartition(hook task.ID) []byte { return append([]byte{'D'}, hook[:]...) }

func deliveryKey(hook task.ID, place int64) map[string]types.AttributeValue {
	return logKey(deliveryPartition(hook), place)
}

// sweptKey is where it is noted how far the sweep of long pauses is.
func sweptKey() map[string]types.AttributeValue { return logKey([]byte{'S'}, 0) }

type deliveryRecord struct {
	Organization string           `json:"organization"`
	Event        string           `json:"event"`
	Type         task.EventType   `json:"type"`
	Sequence     int64            `json:"sequence"`
	Status       webhook.Status   `json:"status"`
	Tries        int              `json:"tries"`
	Due          int64            `json:"due,omitempty"`
	Attempts     []deliveryRecAtt `json:"attempts,omitempty"`
	CreatedAt    int64            `json:"created"`
	UpdatedAt    int64            `json:"updated"`
}

type deliveryRecAtt struct {
	At       int64           `json:"at"`
	Result   webhook.Result  `json:"result"`
	Problem  webhook.Problem `json:"problem,omitempty"`
	Status   int             `json:"status,omitempty"`
	Millis   int64           `json:"ms"`
	Response string          `json:"response,omitempty"`
}

// Delivery implements webhook.DeliveryStore.
func (s *Deliveries) Delivery(ctx context.Context, hook, id task.ID) (webhook.Delivery, error) {
	place, ok := webhook.Place(hook, id)
	if !ok {
		return webhook.Delivery{}, webhook.ErrNotFound
	}
	d, err := s.at(ctx, deliveryKey(hook, place))
	return d.Delivery, err
}

func (s *Deliveries) at(ctx context.Context, key map[string]types.AttributeValue) (webhook.Waiting, error) {
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: key, ConsistentRead: new(true)})
	switch {
	case err != nil:
		return webhook.Waiting{}, sdkError(err, "read delivery")
	case out.Item == nil:
		return webhook.Waiting{}, webhook.ErrNotFound
	}
	return parseDelivery(out.Item)
}

// SaveDelivery implements webhook.DeliveryStore.
func (s *Deliveries) SaveDelivery(ctx context.Context, organization task.ID, d webhook.Delivery) error {
	place, ok := webhook.Place(d.Hook, d.ID)
	if !ok {
		return fmt.Errorf("store: delivery %s is not of hook %s", d.ID, d.Hook)
	}
	r := deliveryRecord{
		Organization: organization.String(), Event: d.Event.String(), Type: d.Type, Sequence: d.Sequence, Status: d.Status,
		Tries: d.Tries, Due: dirMillis(d.Due), CreatedAt: dirMillis(d.CreatedAt), UpdatedAt: dirMillis(d.UpdatedAt),
	}
	for _, a := range d.Attempts {
		r.Attempts = append(r.Attempts, deliveryRecAtt{
			dirMillis(a.At), a.Result, a.Problem, a.Status, a.Duration.Milliseconds(), a.Response,
		})
	}
	record, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("store: encode delivery: %w", err)
	}
	item := stamp(deliveryKey(d.Hook, place))
	item[deliveryRecordAttr] = stringValue(string(record))
	item[deliveryVersion] = number(int64(d.Version + 1))
	item[attrExpires] = number(d.UpdatedAt.Add(task.EventsKept).Unix())
	if _, queued := webhook.Delay(d.Due, d.UpdatedAt); d.Status == webhook.Pending && !queued {
		item[deliveryDue] = stringValue(dueMinute(d.Due))
	}
	in := &dynamodb.PutItemInput{
		TableName: &s.table, Item: item, ConditionExpression: new("attribute_not_exists(" + attrPartition + ")"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if d.Version > 0 {
		in.ConditionExpression = new(deliveryVersion + " = :v")
		in.ExpressionAttributeValues = map[string]types.AttributeValue{":v": number(int64(d.Version))}
	}
	_, err = s.db.PutItem(ctx, in)
	var failed *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &failed) && reflect.DeepEqual(failed.Item, item):
		return nil // the answer to an earlier try of the SDK's was lost
	case errors.As(err, &failed):
		return webhook.ErrStale
	case err != nil:
		return sdkError(err, "save delivery %s to hook %s", d.ID, d.Hook)
	}
	return nil
}

func parseDelivery(item map[string]types.AttributeValue) (webhook.Waiting, error) {
	read := logReader{item: item, err: known(item)}
	var r deliveryRecord
	err := json.Unmarshal([]byte(read.text(deliveryRecordAttr)), &r)
	partition := read.bytes(attrPartition)
	organization, ok := task.ParseID(r.Organization)
	event, known := task.ParseID(r.Event)
	if err != nil || !ok || !known || len(partition) != 17 || read.err != nil {
		return webhook.Waiting{}, errors.New("store: delivery is malformed")
	}
	hook := task.ID(partition[1:])
	d := webhook.Delivery{
		ID: webhook.DeliveryID(hook, r.Sequence, r.Type), Hook: hook, Event: event, Type: r.Type, Sequence: r.Sequence,
		Status: r.Status, Tries: r.Tries, Due: dirTime(r.Due), CreatedAt: dirTime(r.CreatedAt), UpdatedAt: dirTime(r.UpdatedAt),
		Version: int(read.number(deliveryVersion)),
	}
	for _, a := range r.Attempts {
		d.Attempts = append(d.Attempts, webhook.Attempt{At: dirTime(a.At), Outcome: webhook.Outcome{
			Result: a.Result, Problem: a.Problem, Status: a.Status, Duration: time.Duration(a.Millis) * time.Millisecond,
			Response: a.Response,
		}})
	}
	return webhook.Waiting{Delivery: d, Organization: organization}, nil
}

// Deliveries implements webhook.DeliveryStore.
func (s *Deliveries) Deliveries(ctx context.Context, hook task.ID, before int64, limit int) (page []webhook.Delivery, next int64, err error) {
	in := &dynamodb.QueryInput{
		TableName: &s.table, ScanIndexForward: new(false), Limit: aws.Int32(int32(limit)),
		KeyConditionExpression:    new(attrPartition + " = :p"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": deliveryKey(hook, 0)[attrPartition]},
	}
	if before > 0 {
		in.ExclusiveStartKey = deliveryKey(hook, before)
	}
	out, err := s.db.Query(ctx, in)
	if err != nil {
		return nil, 0, sdkError(err, "list deliveries to hook %s", hook)
	}
	for _, item := range out.Items {
		d, err := parseDelivery(item)
		if err != nil {
			return nil, 0, err
		}
		page = append(page, d.Delivery)
	}
	if len(out.LastEvaluatedKey) > 0 {
		next = (&logReader{item: out.LastEvaluatedKey}).number(attrSort)
	}
	return page, next, nil
}

func dueMinute(t time.Time) string {
	return "due#" + strconv.FormatInt(t.Truncate(time.Minute).Unix(), 10)
}

// dueAtOnce is how many deliveries of a minute are read at the same time; the index holds only keys, so that a try costs no
// second write of what was answered.
const dueAtOnce = 16

// DueIn implements webhook.DueStore.
func (s *Deliveries) DueIn(ctx context.Context, minute time.Time) (waiting []webhook.Waiting, err error) {
	in := &dynamodb.QueryInput{
		TableName: &s.table, IndexName: new(watchIndex), KeyConditionExpression: new(headWatch + " = :w"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":w": stringValue(dueMinute(minute))},
	}
	for {
		out, err := s.db.Query(ctx, in)
		if err != nil {
			return nil, sdkError(err, "list deliveries due at %s", minute.UTC().Format(time.RFC3339))
		}
		for few := range slices.Chunk(out.Items, dueAtOnce) {
			found, failed := make([]webhook.Waiting, len(few)), make([]error, len(few))
			var all sync.WaitGroup
			for i, key := range few {
				all.Go(func() {
					found[i], failed[i] = s.at(ctx, map[string]types.AttributeValue{attrPartition: key[attrPartition], attrSort: key[attrSort]})
				})
			}
			all.Wait()
			for i, d := range found {
				switch err := failed[i]; {
				case errors.Is(err, webhook.ErrNotFound), err == nil && d.Status != webhook.Pending: // the index is behind
				case err != nil:
					return nil, err
				default:
					waiting = append(waiting, d)
				}
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return waiting, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// Swept implements webhook.DueStore.
func (s *Deliveries) Swept(ctx context.Context) (time.Time, error) {
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: sweptKey(), ConsistentRead: new(true)})
	if err != nil {
		return time.Time{}, sdkError(err, "read how far deliveries are swept")
	}
	r := logReader{item: out.Item}
	return r.seconds(headSequence), r.err
}

// SetSwept implements webhook.DueStore.
func (s *Deliveries) SetSwept(ctx context.Context, minute time.Time) error {
	item := stamp(sweptKey())
	item[headSequence] = number(minute.Unix())
	_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.table, Item: item,
		// Two sweeps at once: the one that is behind doesn't take the other one back.
		ConditionExpression:       new("attribute_not_exists(" + headSequence + ") OR " + headSequence + " < :minute"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":minute": number(minute.Unix())},
	})
	var failed *types.ConditionalCheckFailedException
	if err == nil || errors.As(err, &failed) {
		return nil
	}
	return sdkError(err, "note that deliveries are swept to %s", minute.UTC().Format(time.RFC3339))
}

// Body implements webhook.Bodies.
func (s *Deliveries) Body(ctx context.Context, organization task.ID, sequence int64, t task.EventType) ([]byte, error) {
	entries, err := s.log.Entries(ctx, organization, sequence-1, 1)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 || entries[0].Sequence != sequence {
		return nil, webhook.ErrNotFound
	}
	if err := s.log.Texts(ctx, entries); err != nil {
		return nil, err
	}
	entries[0].Type = t
	return envelope.Marshal(entries[0]), nil
}
