package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// source gives heads, newest change first. ok is false at the end.
type source interface {
	next(ctx context.Context) (h head, ok bool, err error)
}

// errSpent says that a source would have to read more than the page may cost. It is not given before a head was.
var errSpent = errors.New("store: page budget spent")

// span is a stretch of positions: from the first, included, up to the second, excluded. nil is no bound.
type span struct{ from, to []byte }

// since is the position before every change after t.
func since(t time.Time) []byte {
	if t.IsZero() {
		return nil
	}
	return edge(t.UnixMilli() + 1)
}

// walk merges the queries of an identity's tasks, one for each side and state, by the time of the last change.
type walk struct {
	streams []*stream
	spent   func() bool // says that nothing more is to be read
	filled  bool
}

// newWalk is a walk over the tasks under some state codes. first is how many heads are likely to be needed.
func (s *Tasks) newWalk(spent func() bool, identity task.ID, direction task.Direction, codes []byte, of span, first int) *walk {
	if len(codes) > 2 {
		first = first/7 + 2 // a page's tasks rarely are of one state
	}
	w := &walk{spent: spent}
	if of.to == nil {
		of.to = bytes.Repeat([]byte{0xff}, positionSize)
	}
	if bytes.Compare(of.from, of.to) >= 0 {
		return w
	}
	for _, code := range codes {
		key := indexKey(identity, code)
		if direction != task.Outbound {
			w.streams = append(w.streams, &stream{store: s, index: receivedIndex, attr: attrReceived, key: key, rest: of, limit: first + 1})
		}
		if direction != task.Inbound {
			w.streams = append(w.streams, &stream{store: s, index: sentIndex, attr: attrSent, key: key, rest: of, limit: first + 1})
		}
	}
	return w
}

func (w *walk) next(ctx context.Context) (head, bool, error) {
	if !w.filled { // every stream, side by side
		w.filled = true
		errs := make([]error, len(w.streams))
		var fills sync.WaitGroup
		for i, s := range w.streams {
			fills.Go(func() { errs[i] = s.fill(ctx) })
		}
		fills.Wait()
		if err := errors.Join(errs...); err != nil {
			return head{}, false, err
		}
	}
	var newest *stream
	var at []byte
	for _, s := range w.streams {
		if len(s.buffer) == 0 && !s.done {
			if w.spent() {
				return head{}, false, errSpent
			}
			if err := s.fill(ctx); err != nil {
				return head{}, false, err
			}
		}
		if len(s.buffer) == 0 {
			continue
		}
		if p := s.buffer[0].position(); bytes.Compare(p, at) > 0 {
			newest, at = s, p
		}
	}
	if newest == nil {
		return head{}, false, nil
	}
	h := newest.buffer[0]
	newest.buffer = newest.buffer[1:]
	return h, true, nil
}

func (h head) position() []byte { return position(h.UpdatedAt, h.ID) }

// stream is what one key of an index holds, newest first.
type stream struct {
	store       *Tasks
	index, attr string
	key         []byte
	rest        span // what is not read yet
	limit       int  // of the next query
	buffer      []head
	done        bool
	fills       int
	width       int64 // of a window, in milliseconds; see fillWindows
}

const (
	// sequential is how many fills of a stream are one query. One that goes on longer reads windows side by side.
	sequential = 3
	mostHeads  = 250
	// windows are read side by side, each of about windowHeads: a query gives at most 1 MB. The last of them has no end,
	// so that the walk does not go on through years in which there was nothing.
	windows     = 8
	windowHeads = 400
)

// fill reads until there is something, or nothing any more.
func (s *stream) fill(ctx context.Context) error {
	for len(s.buffer) == 0 && !s.done {
		s.fills++
		if s.fills > sequential {
			if err := s.fillWindows(ctx); err != nil {
				return err
			}
			continue
		}
		before := s.rest.to
		heads, more, err := s.read(ctx, s.rest, s.limit)
		if err != nil {
			return err
		}
		s.take(heads, more, s.rest.from)
		if more && s.fills == sequential {
			s.width = max(1, (timeOf(before)-timeOf(s.rest.to))*windowHeads/int64(len(heads)))
		}
		s.limit = min(4*s.limit, mostHeads)
	}
	return nil
}

// take adds what a query gave of the stretch that begins at from.
func (s *stream) take(heads []head, more bool, from []byte) {
	s.buffer = append(s.buffer, heads...)
	s.rest.to = from
	if more {
		s.rest.to = heads[len(heads)-1].position()
	}
	s.done = bytes.Compare(s.rest.from, s.rest.to) >= 0
}

// fillWindows reads the newest stretches of the rest side by side. How wide they are is a guess from how dense the last
// ones were; what lies behind one that was too wide is thrown away.
func (s *stream) fillWindows(ctx context.Context) error {
	type window struct {
		span
		limit int
		heads []head
		more  bool
		err   error
	}
	var all []*window
	for to := s.rest.to; len(all) < windows && bytes.Compare(s.rest.from, to) < 0; {
		w := &window{span: span{s.rest.from, to}, limit: windowHeads}
		if at := timeOf(to) - s.width; len(all) < windows-1 && at > 0 && bytes.Compare(edge(at), w.from) > 0 {
			w.from, w.limit = edge(at), 0
		}
		all = append(all, w)
		to = w.from
	}
	var reads sync.WaitGroup
	for _, w := range all {
		reads.Go(func() { w.heads, w.more, w.err = s.read(ctx, w.span, w.limit) })
	}
	reads.Wait()
	dense := 1
	for _, w := range all {
		if w.err != nil {
			return w.err
		}
		s.take(w.heads, w.more, w.from)
		dense = max(dense, len(w.heads))
		if w.more {
			break
		}
	}
	s.width = max(1, s.width*min(8*int64(dense), windowHeads)/int64(dense))
	return nil
}

// read is one query. more says that the stretch goes on behind the last of the heads.
func (s *stream) read(ctx context.Context, of span, limit int) (heads []head, more bool, err error) {
	in := &dynamodb.QueryInput{
		TableName: &s.store.table, IndexName: &s.index, ScanIndexForward: new(false),
		KeyConditionExpression: new(s.attr + " = :key AND " + attrUpdated + " BETWEEN :from AND :to"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":key": binaryValue(s.key), ":from": binaryValue(of.from), ":to": binaryValue(of.to),
		},
	}
	if len(of.from) == 0 {
		in.KeyConditionExpression = new(s.attr + " = :key AND " + attrUpdated + " < :to")
		delete(in.ExpressionAttributeValues, ":from")
	}
	if limit > 0 {
		in.Limit = aws.Int32(int32(limit))
	}
	out, err := s.store.query(ctx, in)
	if err != nil {
		return nil, false, sdkError(err, "list tasks of %s by index %s", task.ID(s.key[:len(task.ID{})]), s.index)
	}
	for _, item := range out.Items {
		h, err := parseTask(item)
		if err != nil {
			return nil, false, err
		}
		if !bytes.Equal(h.position(), of.to) { // BETWEEN includes both ends
			heads = append(heads, h)
		}
	}
	return heads, len(out.LastEvaluatedKey) > 0 && len(heads) > 0, nil
}

// edge is the position before every change of a millisecond.
func edge(at int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(at)) }

// timeOf is the time of a position, in milliseconds.
func timeOf(position []byte) int64 {
	return int64(min(binary.BigEndian.Uint64(position), 1<<62))
}

// these is a source of heads that are there already, in order.
type these []head

func (t *these) next(context.Context) (head, bool, error) {
	if len(*t) == 0 {
		return head{}, false, nil
	}
	h := (*t)[0]
	*t = (*t)[1:]
	return h, true, nil
}
