package store

import (
	"fmt"
	"slices"
	"time"

	"baton/internal/search"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The attributes of the table tasks, one letter each: names are paid for like values.
const (
	attrReceived     = "r" // key of the index received: the worker and the code of the state
	attrSent         = "t" // key of the index sent: the requester and the code of the state
	attrUpdated      = "u" // sort key of both: see position
	attrAttempt      = "a" // which write made the head or the change, at random
	attrHead         = "h" // the small fields of a head
	attrChange       = "e" // the small fields of a change; the stream's filter looks for it
	attrCaller       = "c" // the requester's handle
	attrTarget       = "d" // the worker's handle
	attrRequest      = "q" // the clip of the request
	attrResult       = "z" // the clip of the result
	attrFingerprints = "f" // 8 bytes each, the oldest first
	attrWords        = "w" // the word signature, or the archive
	attrBody         = "m" // the message of a change, or a part of it
	attrPair         = "b" // the two identities of a context, the smaller first
	attrTasks        = "k" // the tasks of a context
)

// head is a task as it is stored.
type head struct {
	task.Task
	attempt attempt
	// spilled is how many of the task's fingerprints are in the ledger. The head holds the rest.
	spilled int
	// own are the fingerprints that the head holds itself.
	own   []task.Fingerprint
	words *search.Signature
}

// attempt tells the writes of a head apart. It is what a later write looks at, rather than the version: the renewal of
// a lease makes no version.
type attempt [8]byte

const (
	// unit is what one write unit pays for (AWS, "Read/write capacity mode"). A head over it costs 6 units more a
	// write: 2 in the table and 2 in each index.
	unit = 1024
	// A head holds fingerprints until there are fewOwn or, where there is room, manyOwn; then all go to the ledger.
	// Both divide 50, so that of equal messages any 50 in a row cost the same.
	fewOwn, manyOwn = 10, 25
	// ledgerPage is how many fingerprints a page of the ledger holds: it fits in a unit, and is filled by whole heads.
	ledgerPage = 100
)

// fit makes the head fit into a unit: it says how many fingerprints must go to the ledger, and shrinks the signature to
// leave room for fewOwn. With the longest handles and clips there is room for them and the smallest signature
// (TestHeadFits).
func (h *head) fit() (spill int) {
	if n := len(h.own); n >= manyOwn || n >= fewOwn && h.sizeWith(manyOwn) > unit {
		return n
	}
	if over := h.sizeWith(fewOwn) - unit; over > 0 {
		h.words.Shrink(max(leastSignature, h.words.Size()-over))
	}
	return 0
}

// sizeWith is the size that the head would have with n fingerprints, at least one.
func (h *head) sizeWith(n int) int {
	size := h.size() + 8*(n-len(h.own))
	if len(h.own) == 0 {
		size += len(attrFingerprints)
	}
	return size
}

// size is what DynamoDB counts for the item: names, strings and binaries by their bytes.
func (h head) size() int { return itemSize(h.item()) }

func itemSize(item map[string]types.AttributeValue) (n int) {
	for name, value := range item {
		n += len(name)
		switch v := value.(type) {
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		}
	}
	return n
}

func (h head) item() map[string]types.AttributeValue {
	code := codeOf(h.Task)
	p := packer{schema}
	p.uint(2, flags(
		h.Caller.Verified, h.ReplyHasText, h.WorkerSpoke, h.Request.Cut, h.Request.None, h.Result.Cut, h.Result.None,
		h.Lease != nil,
	))
	p.uint(3, uint64(h.Version))
	p.uint(2, uint64(h.Messages))
	p.uint(2, uint64(h.spilled))
	p.uint(3, uint64(h.ResultChange))
	p.uint(3, uint64(h.Artifacts))
	p.time(h.CreatedAt)
	p.time(h.CompletedAt)
	p.id(h.Context)
	p.id(h.Caller.Organization)
	p.id(h.Target.Organization)
	if h.Lease != nil {
		p.id(h.Lease.ID)
		p.time(h.Lease.ExpiresAt)
		p.uint(2, uint64(h.Lease.Length/time.Second))
	}
	item := taskKey(h.ID, headSort)
	item[attrReceived] = binaryValue(indexKey(h.Target.Identity, code))
	item[attrSent] = binaryValue(indexKey(h.Caller.Identity, code))
	item[attrUpdated] = binaryValue(position(h.UpdatedAt, h.ID))
	item[attrAttempt] = binaryValue(h.attempt[:])
	item[attrHead] = binaryValue(p)
	item[attrCaller] = stringValue(h.Caller.Handle)
	item[attrTarget] = stringValue(h.Target.Handle)
	putText(item, attrRequest, h.Request)
	putText(item, attrResult, h.Result)
	if len(h.own) > 0 {
		item[attrFingerprints] = binaryValue(packFingerprints(h.own))
	}
	if words := h.words.Bytes(); words != nil {
		item[attrWords] = binaryValue(words)
	}
	return item
}

func parseTask(item map[string]types.AttributeValue) (head, error) {
	id, err := parsePartition(taskPartition, item)
	if err != nil {
		return head{}, err
	}
	r := logReader{item: item}
	u := unpacker{b: r.bytes(attrHead)}
	received, sent, updated := r.bytes(attrReceived), r.bytes(attrSent), r.bytes(attrUpdated)
	if len(received) != 17 || len(sent) != 17 || len(updated) != positionSize || len(u.b) == 0 {
		return head{}, fmt.Errorf("store: head of task %s is malformed", id)
	}
	if err := knownVersion(u.uint(1)); err != nil {
		return head{}, fmt.Errorf("store: head of task %s: %w", id, err)
	}
	on := u.uint(2)
	flag := func(bit int) bool { return on&(1<<bit) != 0 }
	h := head{Task: task.Task{
		ID: id, State: stateOfCode[received[16]], ReplyHasText: flag(1), WorkerSpoke: flag(2),
		Version: int(u.uint(3)), Messages: int(u.uint(2)),
		UpdatedAt: time.UnixMilli(int64((&unpacker{b: updated}).uint(8))).UTC(),
	}}
	h.spilled = int(u.uint(2))
	h.ResultChange, h.Artifacts = int(u.uint(3)), int(u.uint(3))
	h.CreatedAt, h.CompletedAt, h.Context = u.time(), u.time(), u.id()
	h.Caller = task.Caller{
		Party:    task.Party{Identity: task.ID(sent[:16]), Organization: u.id(), Handle: r.text(attrCaller)},
		Verified: flag(0),
	}
	h.Target = task.Party{Identity: task.ID(received[:16]), Organization: u.id(), Handle: r.text(attrTarget)}
	if flag(7) {
		h.Lease = &task.Lease{ID: u.id(), ExpiresAt: u.time(), Length: time.Duration(u.uint(2)) * time.Second}
	}
	h.Request = task.Clip{Text: r.text(attrRequest), Cut: flag(3), None: flag(4)}
	h.Result = task.Clip{Text: r.text(attrResult), Cut: flag(5), None: flag(6)}
	copy(h.attempt[:], r.bytes(attrAttempt))
	h.own = unpackFingerprints(r.bytes(attrFingerprints))
	h.Seen = h.own
	h.words = search.ParseSignature(slices.Clone(r.bytes(attrWords)))
	if r.err != nil || u.short || h.State == "" {
		return head{}, fmt.Errorf("store: head of task %s is malformed", id)
	}
	return h, nil
}

// A text that is absent or empty has no attribute: which one it is, a flag tells.
func putText(item map[string]types.AttributeValue, name string, c task.Clip) {
	if c.Text != "" {
		item[name] = stringValue(c.Text)
	}
}

func packFingerprints(fs []task.Fingerprint) []byte {
	var p packer
	for _, f := range fs {
		p.uint(8, uint64(f))
	}
	return p
}

func unpackFingerprints(b []byte) (fs []task.Fingerprint) {
	for u := (unpacker{b: b}); len(u.b) >= 8; {
		fs = append(fs, task.Fingerprint(u.uint(8)))
	}
	return fs
}

func (r *logReader) bytes(name string) []byte {
	v, there := r.item[name]
	if !there {
		return nil
	}
	b, ok := v.(*types.AttributeValueMemberB)
	if !ok {
		r.wrong(name)
		return nil
	}
	return b.Value
}
