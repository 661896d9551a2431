package store

import (
	"context"
	"errors"
	"sync"

	"baton/internal/search"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	// newSignature is how many bytes of words a head has; they become fewer as it fills up.
	newSignature = 512
	// leastSignature is how many it has at least.
	leastSignature = 128
	// The words of a task go to its archive when the head has many since the last time, but in one of fewOwn changes at
	// most, since the archive costs 6 write units; and before the changes since then are many to read.
	fewBehind, mostBehind = fewOwn, 50
)

// addWords adds a message's text to a task's signature or matcher, in the order in which it counts.
func addWords(to search.Document, m *task.Message) {
	if m == nil {
		return
	}
	for _, p := range m.Parts {
		switch {
		case p.Text != nil:
			to.Text(*p.Text)
		case p.Data != nil:
			to.Data(p.Data)
		case p.File != nil:
			to.File(p.File.Name)
		}
	}
}

// archiveDue says whether a save of this head should archive its words.
func (h head) archiveDue() bool {
	behind := h.Version - h.words.Archived()
	return behind >= fewBehind && h.words.Full() || behind >= mostBehind && !h.words.Spent()
}

// archive gives the item with the words of a head's changes up to the newest, which is given, and starts the head's
// signature anew. The changes since the last time are read, all of them where there is no archive that can be read.
// It may find that the head is stale.
func (s *Tasks) archive(ctx context.Context, h *head, newest task.Change) (map[string]types.AttributeValue, error) {
	a := search.NewArchive()
	if n := h.words.Archived(); n > 0 {
		// A query, since functions that write tasks may make no other read.
		out, err := s.db.Query(ctx, &dynamodb.QueryInput{
			TableName: &s.table, ConsistentRead: new(true),
			KeyConditionExpression: new(attrPartition + " = :p AND " + attrSort + " BETWEEN :from AND :to"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":p": binaryValue(partition(taskPartition, h.ID)), ":from": stringValue(wordsSort), ":to": stringValue(wordsSort),
			},
		})
		if err != nil {
			return nil, sdkError(err, "read words of task %s", h.ID)
		}
		var item map[string]types.AttributeValue
		if len(out.Items) > 0 {
			item = out.Items[0]
		}
		if there, known := search.ParseArchive((&logReader{item: item}).bytes(attrWords)); known {
			a = there
		}
		if a.Number > n {
			return nil, task.ErrStale
		}
	}
	last := a.Number
	err := s.eachChange(ctx, h.ID, last+1, newest.Number-1, newest.Number-1-last, func(c changeParts) (bool, error) {
		change, err := c.change()
		if err == nil {
			addWords(a, change.Message)
			last = c.Number
		}
		return true, err
	})
	if err != nil {
		return nil, err
	}
	if last != newest.Number-1 { // what lacks words would deny them
		return nil, sdkError(errors.New("changes are missing"), "read words of task %s", h.ID)
	}
	addWords(a, newest.Message)
	a.Number = newest.Number
	h.words.Archive(a, newSignature)
	item := taskKey(h.ID, wordsSort)
	item[attrWords] = binaryValue(a.Bytes())
	return item, nil
}

// candidate is a task that may have what is asked for.
type candidate struct {
	head
	// rest are words that must stand behind the change of a number, nil for none.
	rest  *search.Query
	after int
}

// candidates are, of heads whose signatures grant a text, those whose archives grant it too, in their order: for half a
// read unit a task that has one, all at once. whole says that a single message must have the text, which is nil for none.
func (s *Tasks) candidates(ctx context.Context, heads []head, text *search.Query, whole bool) ([]candidate, error) {
	var keys []map[string]types.AttributeValue
	for _, h := range heads {
		if text != nil && h.words.Archived() > 0 {
			keys = append(keys, taskKey(h.ID, wordsSort))
		}
	}
	items, err := s.batch(ctx, false, keys)
	if err != nil {
		return nil, err
	}
	archives := map[task.ID]*search.Archive{}
	for _, item := range items {
		id, err := parsePartition(taskPartition, item)
		if err != nil {
			return nil, err
		}
		archives[id], _ = search.ParseArchive((&logReader{item: item}).bytes(attrWords))
	}
	rest := (*search.Signature).Rest
	if whole {
		rest = (*search.Signature).RestMessage
	}
	var kept []candidate
	for _, h := range heads {
		c := candidate{head: h}
		if a := archives[h.ID]; a != nil {
			var may bool
			if c.rest, may = rest(h.words, text, a); !may {
				continue
			}
			c.after = a.Number
		}
		kept = append(kept, c)
	}
	return kept, nil
}

// holding keeps the candidates that have what the text asks for, read from their messages, all of them when text is nil.
func (s *Tasks) holding(ctx context.Context, all []candidate, text *search.Query) (found []head, err error) {
	holds, errs := make([]bool, len(all)), make([]error, len(all))
	var reads sync.WaitGroup
	for i, c := range all {
		if text == nil {
			holds[i] = true
			continue
		}
		reads.Go(func() {
			if c.rest != nil {
				holds[i], errs[i] = s.holds(ctx, c.ID, c.rest.Message(), c.after+1, c.Version)
				if !holds[i] {
					return
				}
			}
			holds[i], errs[i] = s.holds(ctx, c.ID, text.Task(), 1, c.Version)
		})
	}
	reads.Wait()
	for i, c := range all {
		if holds[i] {
			found = append(found, c.head)
		}
	}
	return found, errors.Join(errs...)
}

// holds says whether the changes from a number on have what a matcher looks for. likely is the number of the last.
func (s *Tasks) holds(ctx context.Context, id task.ID, m *search.Matcher, from, likely int) (bool, error) {
	err := s.eachChange(ctx, id, from, maxChange, min(max(0, likely+1-from), 100), func(c changeParts) (bool, error) {
		change, err := c.change()
		if err == nil {
			addWords(m, change.Message)
		}
		return !m.Settled(), err
	})
	return m.Found(), err
}
