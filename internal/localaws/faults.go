package localaws

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Faults is an HTTP transport between SDK clients and the local AWS that fails as told and remembers what went
// through it. Safe for concurrent use.
type Faults struct {
	next http.RoundTripper

	mu    sync.Mutex
	rules []*Fault
	calls []Call
}

// NewFaults is a transport that passes everything on to next until told otherwise.
func NewFaults(next http.RoundTripper) *Faults { return &Faults{next: next} }

// ErrFault is the network error that faults give.
var ErrFault = errors.New("fault made by the test")

// Fault says what happens to the requests of one operation. Its methods narrow it and return it; the last of Refuse,
// Throttle, Fail, Answer, AnswerAfter, Delay, Hold, Lose, Rewrite, Instead and
// Part says what is done. Each SDK attempt is a request of its own: a fault that
// happens once is hidden by the SDK's retry, unless the client is made with aws.NopRetryer.
type Fault struct {
	faults    *Faults
	operation string
	when      func(body []byte) bool
	skip      int // requests still to let through
	left      int // requests still to hit, negative for all
	reduce    func(body []byte) []byte
	apply     func(send func() (*http.Response, error), req *http.Request) (*http.Response, error)
}

// On hits the next request of an operation, as named by its service ("TransactWriteItems", "PutEvents"), "" any.
func (f *Faults) On(operation string) *Fault {
	return &Fault{faults: f, operation: operation, left: 1}
}

// After lets n requests through first.
func (r *Fault) After(n int) *Fault { r.skip = n; return r }

// Times hits n requests in all.
func (r *Fault) Times(n int) *Fault { r.left = n; return r }

// Always hits every request until Reset.
func (r *Fault) Always() *Fault { r.left = -1; return r }

// When hits only requests whose JSON body satisfies the condition; others are not counted.
func (r *Fault) When(body func([]byte) bool) *Fault { r.when = body; return r }

// Containing hits only requests whose JSON body has the text in it.
func (r *Fault) Containing(text string) *Fault {
	return r.When(func(body []byte) bool { return bytes.Contains(body, []byte(text)) })
}

// Refuse gives a network error before anything is sent.
func (r *Fault) Refuse() *Fault {
	return r.do(func(func() (*http.Response, error), *http.Request) (*http.Response, error) {
		return nil, ErrFault
	})
}

// Lose sends the request, throws its answer away and gives a network error: the write happened, the caller can't know.
func (r *Fault) Lose() *Fault {
	return r.do(func(send func() (*http.Response, error), _ *http.Request) (*http.Response, error) {
		res, err := send()
		if err != nil {
			return nil, err
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		return nil, ErrFault
	})
}

// Throttle answers as DynamoDB does when a table's throughput is exceeded, without sending.
func (r *Fault) Throttle() *Fault {
	return r.Fail(http.StatusBadRequest, "ProvisionedThroughputExceededException")
}

// Fail answers with an error of the given status and AWS error code, without sending.
func (r *Fault) Fail(status int, code string) *Fault {
	return r.Answer(status, fmt.Sprintf(`{"__type":%q,"message":"made by the test"}`, code))
}

// Answer answers with the given status and JSON body, without sending.
func (r *Fault) Answer(status int, body string) *Fault {
	return r.do(func(_ func() (*http.Response, error), req *http.Request) (*http.Response, error) {
		return answer(req, status, []byte(body)), nil
	})
}

// AnswerAfter sends, throws the answer away and gives another: the write happened, the caller is told otherwise.
func (r *Fault) AnswerAfter(status int, body string) *Fault {
	return r.do(func(send func() (*http.Response, error), req *http.Request) (*http.Response, error) {
		res, err := send()
		if err != nil {
			return nil, err
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		return answer(req, status, []byte(body)), nil
	})
}

// Delay waits before sending, or until the caller gives up.
func (r *Fault) Delay(d time.Duration) *Fault {
	return r.do(func(send func() (*http.Response, error), req *http.Request) (*http.Response, error) {
		select {
		case <-time.After(d):
			return send()
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	})
}

// Hold runs the function before sending: other writes can be made to come between a read and a write.
func (r *Fault) Hold(before func()) *Fault {
	return r.do(func(send func() (*http.Response, error), _ *http.Request) (*http.Response, error) {
		before()
		return send()
	})
}

// Rewrite sends, and lets the function change the JSON body of the answer.
func (r *Fault) Rewrite(change func(body []byte) []byte) *Fault {
	return r.do(func(send func() (*http.Response, error), req *http.Request) (*http.Response, error) {
		res, err := send()
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		return answer(req, res.StatusCode, change(body)), nil
	})
}

// Instead answers as the function says of the JSON body of the request, without sending.
func (r *Fault) Instead(of func(body []byte) (status int, answer []byte)) *Fault {
	return r.do(func(_ func() (*http.Response, error), req *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		status, text := of(body)
		return answer(req, status, text), nil
	})
}

// Part sends what reduce leaves of the JSON body, and answers what merge makes of the whole body and the answer to its part.
func (r *Fault) Part(reduce func(body []byte) []byte, merge func(body, got []byte) (status int, answer []byte)) *Fault {
	r.reduce = reduce
	return r.do(func(send func() (*http.Response, error), req *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		res, err := send()
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		status, merged := merge(body, text)
		return answer(req, status, merged), nil
	})
}

// do puts the fault in force.
func (r *Fault) do(apply func(func() (*http.Response, error), *http.Request) (*http.Response, error)) *Fault {
	r.apply = apply
	r.faults.mu.Lock()
	defer r.faults.mu.Unlock()
	r.faults.rules = append(r.faults.rules, r)
	return r
}

// Reset takes all faults back and forgets the calls.
func (f *Faults) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.calls = nil, nil
}

// RoundTrip implements http.RoundTripper.
func (f *Faults) RoundTrip(req *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	sent := body
	if strings.HasPrefix(req.Header.Get("X-Amz-Target"), "DynamoDB_") {
		sent = askForCapacity(body)
	}
	send := func() (*http.Response, error) {
		out := req.Clone(req.Context())
		out.Body = io.NopCloser(bytes.NewReader(sent))
		out.ContentLength = int64(len(sent))
		return f.next.RoundTrip(out)
	}

	call := Call{Operation: operation, Request: body}
	var res *http.Response
	var err error
	if rule := f.match(operation, body); rule != nil {
		req.Body = io.NopCloser(bytes.NewReader(body))
		if rule.reduce != nil {
			sent = rule.reduce(sent)
		}
		res, err = rule.apply(send, req)
	} else {
		res, err = send()
	}
	if err != nil {
		call.Err = err
		f.record(call)
		return nil, err
	}
	call.Status = res.StatusCode
	call.Answer, err = io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	call.ReadUnits, call.WriteUnits = units(operation, call.Answer)
	if exact, ok := readUnits(operation, body, call.Answer); ok && call.Status == http.StatusOK {
		call.ReadUnits = exact
	}
	f.record(call)
	res.Body = io.NopCloser(bytes.NewReader(call.Answer))
	return res, nil
}

// match is the first fault that hits the request, its counts taken down.
func (f *Faults) match(operation string, body []byte) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rules {
		switch {
		case r.left == 0,
			r.operation != "" && r.operation != operation,
			r.when != nil && !r.when(body):
			continue
		case r.skip > 0:
			r.skip--
			continue
		case r.left > 0:
			r.left--
		}
		return r
	}
	return nil
}

func answer(req *http.Request, status int, body []byte) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       req,
	}
}
