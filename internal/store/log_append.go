package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// MaxAppend is how many events one append takes: with an entry and a marker each, and the head, they fill the 100
// actions of a transaction.
const MaxAppend = 49

// Append adds events to an organization's log, in their order, behind everything that is there, and gives each its
// Sequence and LoggedAt. An event that was appended before, by whomever, isn't again: it gets the sequence that it has,
// and counts as found. All the others are appended in one transaction, or none is.
//
// was is the head as read, and now as it is after it; ParkedFrom of now was in force at the moment of the append. The
// BusMade and ParkedFrom of a New head are stored as they are.
//
// An append costs 4 write units an event, and 2.
func (l *Log) Append(ctx context.Context, was Head, events []task.Event) (now Head, found int, err error) {
	if len(events) > MaxAppend {
		return Head{}, 0, fmt.Errorf("store: append %d events at once", len(events))
	}
	head := was
	for race := task.NewRace(task.Patience); ; {
		pending := unlogged(events)
		if len(pending) == 0 {
			return head, found, nil
		}
		logged := l.stamp(head, pending)
		_, err := l.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
			TransactItems: l.appendItems(head, pending, logged),
		})
		if err == nil {
			for i, e := range pending {
				e.Sequence, e.LoggedAt = head.Sequence+int64(i)+1, logged
			}
			head.New, head.Sequence, head.LoggedAt = false, head.Sequence+int64(len(pending)), logged
			return head, found, nil
		}
		reasons := cancellation(err)
		if reasons == nil {
			return Head{}, found, sdkError(err, "append to log of %s", was.Organization)
		}
		progress := false
		for i, reason := range reasons {
			switch code := *reason.Code; {
			case code == reasonNone, isContention(code):
			case code != reasonCondition:
				return Head{}, found, fmt.Errorf("store: append to log of %s: %w: %s", was.Organization, ErrRefused, code)
			case i == 0:
				if head, err = parseHead(was.Organization, reason.Item); err != nil {
					return Head{}, found, err
				}
				progress = true
			case i%2 == 0:
				r := logReader{item: reason.Item}
				e := pending[i/2-1]
				e.Sequence, e.LoggedAt = r.number(markerSequence), r.seconds(attrExpires).Add(-markersKept)
				if r.err != nil || e.Sequence == 0 {
					return Head{}, found, fmt.Errorf("store: marker of event %s is malformed", e.ID)
				}
				found++
				progress = true
			}
		}
		if progress && ctx.Err() == nil {
			continue
		}
		if err := race.Again(ctx); err != nil {
			return Head{}, found, sdkError(err, "append to log of %s", was.Organization)
		}
		// An entry that is already there, or a conflict: the head moved.
		if head, err = l.Head(ctx, was.Organization); err != nil {
			return Head{}, found, err
		}
		if head.New && was.New {
			head.ParkedFrom, head.BusMade = was.ParkedFrom, was.BusMade
		}
	}
}

// unlogged are the events that have no sequence yet.
func unlogged(events []task.Event) (pending []*task.Event) {
	for i := range events {
		if events[i].Sequence == 0 {
			pending = append(pending, &events[i])
		}
	}
	return pending
}

// stamp is when the next entries are logged. Clocks differ, but in the log time must not go back, nor be before what
// happened: since is looked for by it.
func (l *Log) stamp(head Head, events []*task.Event) time.Time {
	at := l.now().UTC().Truncate(time.Second)
	if at.Before(head.LoggedAt) {
		at = head.LoggedAt
	}
	for _, e := range events {
		if happened := e.At.UTC().Truncate(time.Second); at.Before(happened) {
			at = happened
		}
	}
	return at
}

func (l *Log) appendItems(head Head, events []*task.Event, logged time.Time) []types.TransactWriteItem {
	update := []string{headSequence + " = :after", headLogged + " = :logged", headWatch + " = :watch", attrSchema + " = :schema"}
	condition := "attribute_not_exists(" + attrPartition + ")"
	values := map[string]types.AttributeValue{
		":after": number(head.Sequence + int64(len(events))), ":logged": number(logged.Unix()),
		":schema": number(schema), ":watch": &types.AttributeValueMemberS{Value: watchMoved},
	}
	if head.ParkedFrom != 0 {
		values[":watch"] = &types.AttributeValueMemberS{Value: watchParked}
		values[":parked"] = number(head.ParkedFrom)
	}
	if head.New {
		if head.ParkedFrom != 0 {
			update = append(update, headParked+" = :parked")
		}
		if !head.BusMade.IsZero() {
			update = append(update, headBusMade+" = :made")
			values[":made"] = number(head.BusMade.UnixMilli())
		}
	} else {
		condition = asRead(headSequence, ":before", head.Sequence == 0) + " AND " + asRead(headParked, ":parked", head.ParkedFrom == 0)
		if head.Sequence != 0 {
			values[":before"] = number(head.Sequence)
		}
	}
	items := []types.TransactWriteItem{{Update: &types.Update{
		TableName: &l.table, Key: logHeadKey(head.Organization),
		UpdateExpression: new("SET " + strings.Join(update, ", ")), ConditionExpression: &condition,
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}}
	for i, e := range events {
		entry := *e
		entry.Sequence, entry.LoggedAt = head.Sequence+int64(i)+1, logged
		marker := markerKey(e.ID)
		marker[markerSequence] = number(entry.Sequence)
		marker[attrExpires] = number(logged.Add(markersKept).Unix())
		items = append(items, l.putNew(entryItem(entry)), l.putNew(marker))
	}
	return items
}

func (l *Log) putNew(item map[string]types.AttributeValue) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &l.table, Item: stamp(item), ConditionExpression: new("attribute_not_exists(" + attrPartition + ")"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}
