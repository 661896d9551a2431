package relay

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"baton/internal/store"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Relay tells of changes. All methods are safe for concurrent use, and for any number of relays at once.
type Relay struct {
	log      *store.Log
	buses    *Buses
	changes  Changes
	legacy   *legacy
	hooks    Hooks
	failures Failures
}

// Changes is where changes come from.
type Changes interface {
	// ParseChange reads a change from its item. whole is false when the message goes on in further items: then the
	// change has none. An error means that no later try will succeed.
	ParseChange(item map[string]types.AttributeValue) (c task.Change, whole bool, err error)
	// ParseChangeKey reads which change a key is of.
	ParseChangeKey(key map[string]types.AttributeValue) (id task.ID, number int, err error)
	// Change reads one change, whole. Errors: task.ErrNotFound, task.ErrUnavailable.
	Change(ctx context.Context, id task.ID, number int) (task.Change, error)
}

// Hooks are told of every event that is in a log, in its order, at least once.
type Hooks interface {
	// Listening looks who listens to an organization's events that happened before the call; tell tells them of those. An
	// error of either means that they were not told: after task.ErrUnavailable they are told again, after any other the
	// change goes to the failures.
	Listening(ctx context.Context, organization task.ID) (tell func(context.Context, []task.Event) error, err error)
}

// Organizations knows which organizations want the older event type too; false for one that it does not know.
type Organizations interface {
	LegacyEvents(ctx context.Context, organization task.ID) (bool, error)
}

// Failures takes what can't be told, for a person to look at and to redrive.
type Failures interface {
	Put(ctx context.Context, f Failure) error
}

// Failure is a change that could not be told, and why. Task is zero when not even that could be read, and for a whole
// batch of changes, of which First and Last are the times of arrival.
type Failure struct {
	Task        task.ID
	Number      int
	Record      string // the sequence number of its stream record, of a batch's first one
	Reason      string
	First, Last time.Time
}

// String is one line for a person.
func (f Failure) String() string {
	if f.Task.IsZero() && !f.First.IsZero() {
		return fmt.Sprintf("changes that arrived from %s to %s: %s", f.First.Format(time.RFC3339), f.Last.Format(time.RFC3339), f.Reason)
	}
	return fmt.Sprintf("change %d of task %s (record %s): %s", f.Number, f.Task, f.Record, f.Reason)
}

// New returns a relay. hooks may be nil.
func New(log *store.Log, buses *Buses, changes Changes, organizations Organizations, hooks Hooks, failures Failures) *Relay {
	return &Relay{log, buses, changes, newLegacy(organizations), hooks, failures}
}

// spareTime is what a batch keeps of its time for noting what the bus did not take.
const spareTime = 6 * time.Second

// Records tells of the changes of a batch of stream records. The answer names, by sequence number, the records that must
// come again because something was unavailable; a record that no try will ever get through goes to the failures
// instead and counts as done. The error is always nil.
//
// Stream order is per item, and each change is an item of its own: the batch is put in the order of task and number.
func (r *Relay) Records(ctx context.Context, batch events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	var records []*record
	for _, in := range batch.Records {
		records = append(records, r.read(ctx, in))
	}
	r.tell(ctx, records)
	var response events.DynamoDBEventResponse
	for _, rec := range records {
		if rec.again {
			response.BatchItemFailures = append(response.BatchItemFailures, events.DynamoDBBatchItemFailure{
				ItemIdentifier: rec.number,
			})
		}
	}
	measureBatch(records)
	return response, nil
}

// record is a stream record on its way.
type record struct {
	number string // the stream's
	change task.Change

	mu    sync.Mutex
	again bool // something was unavailable
	lost  bool // it went to the failures
}

func (rec *record) retry() {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.again = true
}

// read makes a change of a stream record.
func (r *Relay) read(ctx context.Context, in events.DynamoDBEventRecord) *record {
	rec := &record{number: in.Change.SequenceNumber}
	change, whole, err := r.parse(in)
	if err == nil && !whole {
		change, err = r.changes.Change(ctx, change.Task, change.Number)
	}
	if err == nil {
		rec.change = change
		return rec
	}
	id, number, _ := r.changes.ParseChangeKey(itemOf(in.Change.Keys))
	rec.change = task.Change{Task: id, Number: number}
	if isUnavailable(err) {
		slog.ErrorContext(ctx, "change not read", "task_id", id.String(), "number", number, "error", err)
		rec.again = true
		return rec
	}
	r.fail(ctx, rec, err)
	return rec
}

func (r *Relay) parse(in events.DynamoDBEventRecord) (c task.Change, whole bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = errorOf(cause)
		}
	}()
	return r.changes.ParseChange(itemOf(in.Change.NewImage))
}

// fail hands a record to the failures, where it can be.
func (r *Relay) fail(ctx context.Context, rec *record, cause error) {
	slog.ErrorContext(ctx, "change can't be told", "task_id", rec.change.Task.String(), "number", rec.change.Number, "error", cause)
	err := r.failures.Put(ctx, Failure{Task: rec.change.Task, Number: rec.change.Number, Record: rec.number, Reason: cause.Error()})
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if err != nil {
		slog.ErrorContext(ctx, "failure not noted", "error", err)
		rec.again = true
		return
	}
	rec.lost = true
}

// told is an event on its way, with the record it comes from.
type told struct {
	event task.Event
	from  *record
}

// tell tells of the changes of records, each organization on its own.
func (r *Relay) tell(ctx context.Context, records []*record) {
	ordered := slices.DeleteFunc(slices.Clone(records), func(rec *record) bool { return rec.again || rec.lost })
	slices.SortStableFunc(ordered, func(a, b *record) int {
		return cmp.Or(slices.Compare(a.change.Task[:], b.change.Task[:]), cmp.Compare(a.change.Number, b.change.Number))
	})
	byOrganization := map[task.ID][]told{}
	var organizations []task.ID
	for _, rec := range ordered {
		for _, e := range rec.change.Events() {
			if _, known := byOrganization[e.Organization]; !known {
				organizations = append(organizations, e.Organization)
			}
			byOrganization[e.Organization] = append(byOrganization[e.Organization], told{e, rec})
		}
	}
	_ = each(ctx, organizations, func(ctx context.Context, id task.ID) error {
		r.tellOrganization(ctx, id, byOrganization[id])
		return nil
	})
}
