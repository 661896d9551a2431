package store

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The keys of the table tasks. A partition holds one task or one context: a letter and its id. Within a task the sort
// keys are in the order C (changes) < M (ledger) < T (head) < W (archive of words), so that one backwards query from the
// head on gives the head, then the ledger, then the newest changes.
const (
	taskPartition    = 'T'
	contextPartition = 'X'

	wordsSort   = "W"
	headSort    = "T"
	contextSort = "X"
	ledgerSort  = "M#" // and the page, one digit
	changeSort  = "C#" // and the number, six digits; further items of a long one add # and their number
)

func taskKey(id task.ID, sort string) map[string]types.AttributeValue {
	return partKey(taskPartition, id, sort)
}

func contextKey(id task.ID) map[string]types.AttributeValue {
	return partKey(contextPartition, id, contextSort)
}

func partKey(letter byte, id task.ID, sort string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{attrPartition: binaryValue(partition(letter, id)), attrSort: stringValue(sort)}
}

func partition(letter byte, id task.ID) []byte { return append([]byte{letter}, id[:]...) }

func changeSortKey(number int) string { return fmt.Sprintf("%s%06d", changeSort, number) }

func changePartKey(number, part int) string { return fmt.Sprintf("%s#%d", changeSortKey(number), part) }

func ledgerSortKey(page int) string { return ledgerSort + strconv.Itoa(page) }

// parseChangeSort reads the number of a change, and which further item of it this is, 0 for the first.
func parseChangeSort(sort string) (number, part int, err error) {
	const digits = len(changeSort) + 6
	if len(sort) < digits || sort[:len(changeSort)] != changeSort {
		return 0, 0, fmt.Errorf("store: %q is not the key of a change", sort)
	}
	if number, err = strconv.Atoi(sort[len(changeSort):digits]); err != nil {
		return 0, 0, fmt.Errorf("store: %q is not the key of a change", sort)
	}
	if len(sort) > digits {
		if part, err = strconv.Atoi(sort[digits+1:]); err != nil || sort[digits] != '#' {
			return 0, 0, fmt.Errorf("store: %q is not the key of a change", sort)
		}
	}
	return number, part, nil
}

func parsePartition(letter byte, key map[string]types.AttributeValue) (task.ID, error) {
	p, ok := key[attrPartition].(*types.AttributeValueMemberB)
	if !ok || len(p.Value) != 17 || p.Value[0] != letter {
		return task.ID{}, fmt.Errorf("store: partition key is not of the kind %c", letter)
	}
	return task.ID(p.Value[1:]), nil
}

// The indexes of the table tasks: the tasks that an identity received, and those that it sent. Their partition is the
// identity and the code of the state, their sort key the time of the last change and the task.
const (
	receivedIndex = "received"
	sentIndex     = "sent"
)

// The codes of states in index keys. A working task that was claimed has a code of its own, so that those whose lease
// ran out are found among few, and another one when nobody holds it any more, so that it is found at once.
const (
	codeSubmitted     = 's'
	codeWorking       = 'w'
	codeLeased        = 'l'
	codeFree          = 'a'
	codeInputRequired = 'i'
	codeCompleted     = 'c'
	codeFailed        = 'f'
	codeCanceled      = 'x'
	codeRejected      = 'r'
)

var stateOfCode = map[byte]task.State{
	codeSubmitted: task.Submitted, codeWorking: task.Working, codeLeased: task.Working, codeFree: task.Working,
	codeInputRequired: task.InputRequired, codeCompleted: task.Completed, codeFailed: task.Failed,
	codeCanceled: task.Canceled, codeRejected: task.Rejected,
}

// codesOf are the codes under which tasks of a state stand, all codes for the empty state.
func codesOf(s task.State) (codes []byte) {
	for _, code := range []byte{
		codeSubmitted, codeWorking, codeLeased, codeFree, codeInputRequired, codeCompleted, codeFailed, codeCanceled, codeRejected,
	} {
		if s == "" || stateOfCode[code] == s {
			codes = append(codes, code)
		}
	}
	return codes
}

func codeOf(t task.Task) byte {
	switch {
	case t.State == task.Working && t.Lease != nil && t.Lease.ID.IsZero():
		return codeFree
	case t.State == task.Working && t.Lease != nil:
		return codeLeased
	}
	return codesOf(t.State)[0]
}

func indexKey(identity task.ID, code byte) []byte {
	return append(identity[:len(identity):len(identity)], code)
}

// position is an index's sort key: all lists are in its order, so it is also where a page ends.
func position(updated time.Time, id task.ID) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(updated.UnixMilli())), id[:]...)
}

const positionSize = 8 + 16

func binaryValue(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }
func stringValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
