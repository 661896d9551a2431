package store

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The items of the table events. Partition keys are a letter and 16 bytes: of the organization for a head, of the
// organization and four more of the segment for entries, of the event for a marker. The sort key is the sequence of an
// entry, and 0 for the others. An entry stays under 1 KB, which is one write unit, in any script (see TestEntrySize).
const (
	attrPartition = "p"
	attrSort      = "s"
	attrExpires   = "x" // when it may be deleted, in seconds; task.EventsKept (of markers: markersKept) after it was written

	// A head. Times but the last entry's are in milliseconds.
	headSequence  = "q"
	headLogged    = "l" // seconds
	headParked    = "k"
	headBusOK     = "o"
	headBusMade   = "b"
	headChecked   = "g"
	headCheckedAt = "h"
	headWatch     = "w" // which of the minute's rounds must look at it; key of the index watch

	// A marker.
	markerSequence = "q"

	// An entry.
	entryID           = "i"
	entryType         = "y"
	entryIdentity     = "n"
	entryTask         = "k"
	entryContext      = "c"
	entryVersion      = "v"
	entryAt           = "t" // milliseconds
	entryState        = "e"
	entryMessageID    = "m"
	entryMessage      = "b" // absent without a text
	entryResult       = "r" // absent without a text, and where it is the message
	entryResultChange = "u"
	entryFlags        = "f"
	entryNote         = "d" // absent but for events that are about no task
	entryCaller       = "ci"
	entryCallerOrg    = "co"
	entryCallerHandle = "ch"
	entryTarget       = "ti"
	entryTargetOrg    = "to"
	entryTargetHandle = "th"
)

const (
	flagMessageCut = 1 << iota
	flagResultCut
	flagResultIsMessage
	flagVerified
)

const watchIndex = "watch"

// The values of headWatch.
const (
	watchMoved  = "moved"  // the bus must be looked at: entries went to it since
	watchParked = "parked" // entries wait for the bus
)

func logHeadKey(organization task.ID) map[string]types.AttributeValue {
	return logKey(append([]byte{'H'}, organization[:]...), 0)
}

func logEntryKey(organization task.ID, sequence int64) map[string]types.AttributeValue {
	return logKey(segmentKey(organization, sequence), sequence)
}

func segmentKey(organization task.ID, sequence int64) []byte {
	return binary.BigEndian.AppendUint32(append([]byte{'L'}, organization[:]...), uint32(sequence/segment))
}

func markerKey(event task.ID) map[string]types.AttributeValue {
	return logKey(append([]byte{'M'}, event[:]...), 0)
}

func logKey(partition []byte, sort int64) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		attrPartition: &types.AttributeValueMemberB{Value: partition}, attrSort: number(sort),
	}
}

// headOrganization is whose head a key is.
func headOrganization(key map[string]types.AttributeValue) (id task.ID, ok bool) {
	p, isBytes := key[attrPartition].(*types.AttributeValueMemberB)
	if !isBytes || len(p.Value) != 17 || p.Value[0] != 'H' {
		return task.ID{}, false
	}
	return task.ID(p.Value[1:]), true
}

func parseHead(organization task.ID, item map[string]types.AttributeValue) (Head, error) {
	r := logReader{item: item, err: known(item)}
	h := Head{
		Organization: organization,
		New:          item == nil,
		Sequence:     r.number(headSequence),
		ParkedFrom:   r.number(headParked),
		BusOK:        r.number(headBusOK),
		Checked:      r.number(headChecked),
		LoggedAt:     r.seconds(headLogged),
		BusMade:      r.milliseconds(headBusMade),
		CheckedAt:    r.milliseconds(headCheckedAt),
	}
	if r.err != nil {
		return Head{}, fmt.Errorf("store: log head of %s: %w", organization, r.err)
	}
	return h, nil
}

func entryItem(e task.Event) map[string]types.AttributeValue {
	item := logEntryKey(e.Organization, e.Sequence)
	blob := func(name string, id task.ID) {
		if !id.IsZero() {
			item[name] = &types.AttributeValueMemberB{Value: id[:]}
		}
	}
	text := func(name, value string) { item[name] = &types.AttributeValueMemberS{Value: value} }
	var flags int64
	flag := func(on bool, bit int64) {
		if on {
			flags |= bit
		}
	}

	item[attrExpires] = number(e.LoggedAt.Add(task.EventsKept).Unix())
	blob(entryID, e.ID)
	text(entryType, string(e.Type))
	if e.Note != "" {
		text(entryNote, e.Note)
	}
	blob(entryIdentity, e.Identity)
	blob(entryTask, e.Task)
	blob(entryContext, e.Context)
	item[entryVersion] = number(int64(e.Version))
	item[entryAt] = number(e.At.UnixMilli())
	text(entryState, string(e.State))
	blob(entryMessageID, e.MessageID)
	message := clipped(e.Message)
	if !message.None {
		text(entryMessage, message.Text)
		flag(message.Cut, flagMessageCut)
	}
	result := clipped(e.Result)
	same := !result.None && result == message
	flag(same, flagResultIsMessage)
	if !result.None && !same {
		text(entryResult, result.Text)
		flag(result.Cut, flagResultCut)
	}
	item[entryResultChange] = number(int64(e.ResultChange))
	blob(entryCaller, e.Caller.Identity)
	blob(entryCallerOrg, e.Caller.Organization)
	text(entryCallerHandle, e.Caller.Handle)
	flag(e.Caller.Verified, flagVerified)
	blob(entryTarget, e.Target.Identity)
	blob(entryTargetOrg, e.Target.Organization)
	text(entryTargetHandle, e.Target.Handle)
	item[entryFlags] = number(flags)
	return item
}

// clipped is the clip of a text that may be whole; one that was cut stays so.
func clipped(c task.Clip) task.Clip {
	if c.None {
		return task.Clip{None: true}
	}
	short := task.NewClip(c.Text)
	short.Cut = short.Cut || c.Cut
	return short
}

func parseEntry(organization task.ID, item map[string]types.AttributeValue) (task.Event, error) {
	r := logReader{item: item, err: known(item)}
	flags := r.number(entryFlags)
	e := task.Event{
		ID:           r.id(entryID),
		Type:         task.EventType(r.text(entryType)),
		Organization: organization,
		Identity:     r.id(entryIdentity),
		Sequence:     r.number(attrSort),
		LoggedAt:     r.seconds(attrExpires).Add(-task.EventsKept),
		Task:         r.id(entryTask),
		Context:      r.id(entryContext),
		Version:      int(r.number(entryVersion)),
		State:        task.State(r.text(entryState)),
		At:           r.milliseconds(entryAt),
		MessageID:    r.id(entryMessageID),
		Note:         r.text(entryNote),
		Message:      r.clip(entryMessage, flags&flagMessageCut != 0),
		Result:       r.clip(entryResult, flags&flagResultCut != 0),
		ResultChange: int(r.number(entryResultChange)),
		Caller: task.Caller{
			Party:    task.Party{Identity: r.id(entryCaller), Organization: r.id(entryCallerOrg), Handle: r.text(entryCallerHandle)},
			Verified: flags&flagVerified != 0,
		},
		Target: task.Party{Identity: r.id(entryTarget), Organization: r.id(entryTargetOrg), Handle: r.text(entryTargetHandle)},
	}
	if flags&flagResultIsMessage != 0 {
		e.Result = e.Message
	}
	if r.err != nil {
		return task.Event{}, fmt.Errorf("store: entry of the log of %s: %w", organization, r.err)
	}
	return e, nil
}

// logReader takes attributes out of an item; the first one of a wrong form is its err. Absent ones are zero.
type logReader struct {
	item map[string]types.AttributeValue
	err  error
}

func (r *logReader) wrong(name string) {
	if r.err == nil {
		r.err = fmt.Errorf("attribute %s is malformed", name)
	}
}

func (r *logReader) number(name string) int64 {
	v, there := r.item[name]
	if !there {
		return 0
	}
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		r.wrong(name)
		return 0
	}
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		r.wrong(name)
	}
	return value
}

func (r *logReader) seconds(name string) time.Time {
	n := r.number(name)
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

func (r *logReader) milliseconds(name string) time.Time {
	n := r.number(name)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

func (r *logReader) text(name string) string {
	v, there := r.item[name]
	if !there {
		return ""
	}
	s, ok := v.(*types.AttributeValueMemberS)
	if !ok {
		r.wrong(name)
		return ""
	}
	return s.Value
}

func (r *logReader) id(name string) task.ID {
	v, there := r.item[name]
	if !there {
		return task.ID{}
	}
	b, ok := v.(*types.AttributeValueMemberB)
	if !ok || len(b.Value) != 16 {
		r.wrong(name)
		return task.ID{}
	}
	return task.ID(b.Value)
}

func (r *logReader) clip(name string, cut bool) task.Clip {
	if _, there := r.item[name]; !there {
		return task.Clip{None: true}
	}
	return task.Clip{Text: r.text(name), Cut: cut}
}
