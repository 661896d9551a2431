package store

import (
	"fmt"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	// mostBody is how much of a message one item takes: an item has at most 400 KB (AWS, "Service quotas"), and a
	// change's other attributes have less than 1 KB.
	mostBody = 398 << 10
	// packFrom is the size of an item from which its body is compressed: below, a write unit more can't be saved.
	packFrom = unit
)

var causes = []task.Cause{
	task.CauseSent, task.CauseMessage, task.CauseReply, task.CauseSet, task.CauseClaimed, task.CauseCanceled,
}

// changeItems are the items of a change: one, and for a message over an item's limit further ones.
func changeItems(c task.Change) ([]map[string]types.AttributeValue, error) {
	var (
		raw        []byte
		compressed bool
		id         task.ID
		err        error
		ownResult  = c.Message != nil && c.ResultChange == c.Number
	)
	item := taskKey(c.Task, changeSortKey(c.Number))
	item[attrCaller] = stringValue(c.Caller.Handle)
	item[attrTarget] = stringValue(c.Target.Handle)
	if !ownResult {
		putText(item, attrResult, c.Result)
	}
	if c.Message != nil {
		id = c.Message.ID
		if raw, err = encodeBody(*c.Message); err != nil {
			return nil, err
		}
	}
	const packedSize = 1 + 1 + 1 + 2 + 1 + 6 + 3 + 6*16
	if itemSize(item)+len(raw)+len(attrBody)+len(attrChange)+packedSize > packFrom {
		raw, compressed = pack(raw)
	}
	var pieces [][]byte
	for ; len(raw) > mostBody; raw = raw[mostBody:] {
		pieces = append(pieces, raw[:mostBody])
	}
	if len(raw) > 0 {
		pieces = append(pieces, raw)
	}

	p := packer{schema, causeCode(c.Cause), codesOf(c.State)[0]}
	p.uint(2, flags(
		c.Caller.Verified, c.Resumed, c.Result.Cut, c.Result.None, compressed, ownResult, c.Message != nil,
		c.Message != nil && c.Message.Role == task.ByCaller,
	))
	p.uint(1, uint64(len(pieces)))
	p.time(c.At)
	p.uint(3, uint64(c.ResultChange))
	for _, id := range []task.ID{
		c.Context, c.Caller.Identity, c.Caller.Organization, c.Target.Identity, c.Target.Organization, id,
	} {
		p.id(id)
	}
	item[attrChange] = binaryValue(p)
	items := []map[string]types.AttributeValue{item}
	for i, piece := range pieces {
		if i > 0 {
			items = append(items, stamp(taskKey(c.Task, changePartKey(c.Number, i))))
		}
		items[i][attrBody] = binaryValue(piece)
	}
	return items, nil
}

func causeCode(c task.Cause) byte {
	for i, cause := range causes {
		if cause == c {
			return byte(i)
		}
	}
	panic("store: cause " + string(c) + " has no code") // a programming error: see TestCauses
}

// changeParts is a change whose further items may still be missing.
type changeParts struct {
	task.Change
	compressed bool
	pieces     [][]byte // nil where missing
}

// parseChangeHead reads the first item of a change.
func parseChangeHead(item map[string]types.AttributeValue) (changeParts, error) {
	id, err := parsePartition(taskPartition, item)
	if err != nil {
		return changeParts{}, err
	}
	r := logReader{item: item}
	number, part, err := parseChangeSort(r.text(attrSort))
	if err != nil {
		return changeParts{}, err
	}
	u := unpacker{b: r.bytes(attrChange)}
	malformed := fmt.Errorf("store: change %d of task %s is malformed", number, id)
	if len(u.b) == 0 || part != 0 {
		return changeParts{}, malformed
	}
	if err := knownVersion(u.uint(1)); err != nil {
		return changeParts{}, fmt.Errorf("store: change %d of task %s: %w", number, id, err)
	}
	cause, state := int(u.uint(1)), stateOfCode[byte(u.uint(1))]
	on := u.uint(2)
	flag := func(bit int) bool { return on&(1<<bit) != 0 }
	c := changeParts{compressed: flag(4), pieces: make([][]byte, u.uint(1))}
	c.Task, c.Number, c.State, c.Resumed = id, number, state, flag(1)
	c.At, c.ResultChange, c.Context = u.time(), int(u.uint(3)), u.id()
	c.Caller = task.Caller{
		Party:    task.Party{Identity: u.id(), Organization: u.id(), Handle: r.text(attrCaller)},
		Verified: flag(0),
	}
	c.Target = task.Party{Identity: u.id(), Organization: u.id(), Handle: r.text(attrTarget)}
	c.Result = task.Clip{Text: r.text(attrResult), Cut: flag(2), None: flag(3)}
	messageID := u.id()
	if flag(6) {
		c.Message = &task.Message{ID: messageID, Role: task.ByAgent, CreatedAt: c.At}
		if flag(7) {
			c.Message.Role = task.ByCaller
		}
	}
	if len(c.pieces) > 0 {
		c.pieces[0] = r.bytes(attrBody)
	}
	if r.err != nil || u.short || cause >= len(causes) || state == "" {
		return changeParts{}, malformed
	}
	c.Cause = causes[cause]
	return c, nil
}

// whole says whether every item of the change is there.
func (c changeParts) whole() bool {
	for _, piece := range c.pieces {
		if piece == nil {
			return false
		}
	}
	return true
}

// change puts the message together.
func (c changeParts) change() (task.Change, error) {
	if c.Message == nil {
		return c.Change, nil
	}
	raw := c.pieces[0]
	for _, piece := range c.pieces[1:] {
		raw = append(raw[:len(raw):len(raw)], piece...)
	}
	if c.compressed {
		var err error
		if raw, err = unpack(raw); err != nil {
			return task.Change{}, err
		}
	}
	if err := decodeBody(raw, c.Message); err != nil {
		return task.Change{}, err
	}
	if text, ok := c.Message.Text(); ok && c.ResultChange == c.Number {
		c.Result = task.NewClip(text)
	}
	return c.Change, nil
}

// addPart takes a further item of the change.
func (c changeParts) addPart(item map[string]types.AttributeValue, part int) error {
	r := logReader{item: item}
	piece := r.bytes(attrBody)
	if part >= len(c.pieces) || piece == nil || r.err != nil {
		return fmt.Errorf("store: part %d of change %d of task %s is malformed", part, c.Number, c.Task)
	}
	c.pieces[part] = piece
	return nil
}
