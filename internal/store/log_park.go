package store

import (
	"context"
	"strings"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Park notes that the entry from, and so all after it, did not get to the bus and must be sent from the log. A log that
// is parked from there or from before stays as it is.
func (l *Log) Park(ctx context.Context, organization task.ID, from int64) error {
	_, _, err := l.headUpdate(ctx, "park log", Head{Organization: organization},
		"SET "+headParked+" = :from, "+headWatch+" = :parked",
		"attribute_exists("+attrPartition+") AND (attribute_not_exists("+headParked+") OR "+headParked+" > :from)",
		map[string]types.AttributeValue{
			":from": number(from), ":parked": &types.AttributeValueMemberS{Value: watchParked},
		})
	return err
}

// Sent notes that the bus took all parked entries before next. When next is behind the newest entry nothing waits any
// more, and events go straight to the bus again. All that under the condition that the log is parked from where was says
// and, for the latter, ends where was says: otherwise ok is false, nothing changes, and now is what to go on from.
func (l *Log) Sent(ctx context.Context, was Head, next int64) (now Head, ok bool, err error) {
	values := map[string]types.AttributeValue{":was": number(was.ParkedFrom)}
	if next <= was.Sequence {
		values[":next"] = number(next)
		return l.headUpdate(ctx, "unpark log", was, "SET "+headParked+" = :next", headParked+" = :was", values)
	}
	values[":newest"] = number(was.Sequence)
	values[":moved"] = &types.AttributeValueMemberS{Value: watchMoved}
	return l.headUpdate(ctx, "unpark log", was,
		"SET "+headWatch+" = :moved REMOVE "+headParked,
		headParked+" = :was AND "+headSequence+" = :newest", values)
}

// BusReplaced notes that the bus is another than the one last seen, made at the given time: what was sent to it since
// it was last known to be there is parked, and what was parked stays so. Conditions and results as for Sent.
func (l *Log) BusReplaced(ctx context.Context, was Head, made time.Time) (now Head, ok bool, err error) {
	from := was.BusOK + 1
	if was.ParkedFrom != 0 && was.ParkedFrom < from {
		from = was.ParkedFrom
	}
	update := "SET " + headBusMade + " = :made"
	values := map[string]types.AttributeValue{":made": number(made.UnixMilli())}
	if from <= was.Sequence {
		update += ", " + headParked + " = :from, " + headWatch + " = :parked"
		values[":from"] = number(from)
		values[":parked"] = &types.AttributeValueMemberS{Value: watchParked}
	}
	if was.ParkedFrom != 0 {
		values[":was"] = number(was.ParkedFrom)
	}
	if !was.BusMade.IsZero() {
		values[":before"] = number(was.BusMade.UnixMilli())
	}
	if was.Sequence != 0 {
		values[":newest"] = number(was.Sequence)
	}
	condition := []string{
		asRead(headParked, ":was", was.ParkedFrom == 0), asRead(headBusMade, ":before", was.BusMade.IsZero()),
		asRead(headSequence, ":newest", was.Sequence == 0),
	}
	return l.headUpdate(ctx, "note new bus", was, update, strings.Join(condition, " AND "), values)
}

// BusSeen notes a look at the bus that found it there, the same as before. What had been logged at the look before
// reached the bus, if the two looks are further apart than a relay can live; the caller sees to that. ok is false, and
// nothing changes, when the log was parked or looked at in between.
func (l *Log) BusSeen(ctx context.Context, was Head, at time.Time) (now Head, ok bool, err error) {
	update := "SET " + headBusOK + " = :ok, " + headChecked + " = :newest, " + headCheckedAt + " = :at"
	condition := []string{
		"attribute_not_exists(" + headParked + ")",
		asRead(headCheckedAt, ":before", was.CheckedAt.IsZero()),
	}
	values := map[string]types.AttributeValue{
		":ok": number(was.Checked), ":newest": number(was.Sequence), ":at": number(at.UnixMilli()),
	}
	if !was.CheckedAt.IsZero() {
		values[":before"] = number(was.CheckedAt.UnixMilli())
	}
	if was.Checked == was.Sequence {
		// All that is there is known to have arrived: no look is needed before the next append.
		update += " REMOVE " + headWatch
		condition = append(condition, headSequence+" = :newest")
	}
	return l.headUpdate(ctx, "note bus", was, update, strings.Join(condition, " AND "), values)
}

// Parked lists the organizations whose log waits for its bus, and Moved those whose bus must be looked at because
// entries went to it since. Both may be a second behind.
func (l *Log) Parked(ctx context.Context) ([]task.ID, error) { return l.watched(ctx, watchParked) }

// Moved is described at Parked.
func (l *Log) Moved(ctx context.Context) ([]task.ID, error) { return l.watched(ctx, watchMoved) }

func (l *Log) watched(ctx context.Context, what string) (organizations []task.ID, err error) {
	pages := dynamodb.NewQueryPaginator(l.db, &dynamodb.QueryInput{
		TableName: &l.table, IndexName: new(watchIndex), KeyConditionExpression: new(headWatch + " = :what"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":what": &types.AttributeValueMemberS{Value: what},
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, sdkError(err, "list logs that are %s", what)
		}
		for _, item := range page.Items {
			if id, ok := headOrganization(item); ok {
				organizations = append(organizations, id)
			}
		}
	}
	return organizations, nil
}
