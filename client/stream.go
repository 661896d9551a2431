package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// silence is for how long a stream may say nothing: the service says something every 15 s, but where it can't stream
	// it answers in one piece, after 25 s at most.
	silence = 45 * time.Second
	// maxLine is more than the largest event, which has 64 KB.
	maxLine = 1 << 20
	// longestPause is between two attempts to connect.
	longestPause = 30 * time.Second
)

// Stream follows the log until ctx ends, as Events does, but over connections that stay open (server-sent events), so
// that an event comes as soon as there is one. A connection that ends or breaks is made again where it was, with growing
// pauses while it can't be made: nothing is missed and nothing comes twice. It ends only with ctx, after the loop's break
// or after a refusal that repeating can't mend.
//
// Without Since or Cursor it begins with what comes after the call. Event.Cursor is the place behind an event: a program
// that keeps it goes on there when it starts again, by EventFilter.Cursor.
func (c *Client) Stream(ctx context.Context, f EventFilter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := stream{Client: c, filter: f, last: f.Cursor, yield: yield}
		s.filter.Cursor = ""
		for pause := firstPause; ; pause = min(2*pause, longestPause) {
			heard, err := s.connection(ctx)
			var refused *Error
			switch {
			case s.broken || ctx.Err() != nil:
				return
			case errors.As(err, &refused) && !refused.again(), errors.Is(err, errNotAnEvent), errors.Is(err, bufio.ErrTooLong):
				yield(Event{}, err)
				return
			}
			if heard {
				pause = firstPause
			}
			wait := rand.N(pause)
			if err == nil {
				wait += s.retry // it ended well, and said when to come again
			} else if refused != nil {
				wait += refused.RetryAfter
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}
}

var errNotAnEvent = errors.New("baton: stream: not an event")

// stream is one walk over however many connections.
type stream struct {
	*Client
	filter EventFilter
	last   string        // the id of the last event that was whole
	retry  time.Duration // what the service asks to wait before the next connection
	yield  func(Event, error) bool
	broken bool // the loop was left
}

// connection reads one connection to its end; heard says whether anything came of it.
func (s *stream) connection(ctx context.Context) (heard bool, err error) {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	request, err := s.request(ctx, call{method: http.MethodGet, path: "/v1/events/stream", query: s.filter.values()}, nil)
	if err != nil {
		return false, &Error{Title: "not a request", Detail: err.Error()}
	}
	request.Header.Set("Accept", "text/event-stream")
	if s.last != "" {
		request.Header.Set("Last-Event-ID", s.last)
	}
	dead := time.AfterFunc(silence, cut)
	defer dead.Stop()
	response, err := s.http.Do(request)
	if err != nil {
		return false, fmt.Errorf("baton: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		return false, newError(response, answer, time.Now())
	}
	return s.read(response.Body, dead)
}

// read takes events apart as the WHATWG's "Server-sent events" says: what is not ended by an empty line is not there.
func (s *stream) read(body io.Reader, dead *time.Timer) (heard bool, err error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLine)
	id, data := s.last, ""
	for lines.Scan() {
		heard = true
		dead.Reset(silence)
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "id":
			id = value
		case field == "data":
			data += value + "\n"
		case field == "retry":
			if ms, err := strconv.Atoi(value); err == nil && ms >= 0 {
				s.retry = min(time.Duration(ms)*time.Millisecond, longestPause)
			}
		case lines.Text() != "":
		case data == "":
			s.last = id
		default:
			e := Event{Cursor: id}
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				return true, fmt.Errorf("%w: %w", errNotAnEvent, err)
			}
			data, s.last = "", id
			dead.Stop() // the caller may take its time
			if s.broken = !s.yield(e, nil); s.broken {
				return true, nil
			}
			dead.Reset(silence)
		}
	}
	return heard, lines.Err()
}
