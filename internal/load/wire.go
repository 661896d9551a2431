package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"baton/client"
	"baton/internal/traffic"
)

// The header by which a request is known to be of a call, taken off before it is sent, and by which an answer tells which
// operation it was of.
const (
	markHeader      = "X-Load-Call"
	operationHeader = "X-Load-Operation"
)

// wire tells the mix what came of its calls.
type wire struct {
	mix  *mix
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	mark := r.Header.Get(markHeader)
	r = r.Clone(r.Context())
	r.Header.Del(markHeader)
	res, err := w.next.RoundTrip(r)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	if err != nil {
		w.mix.answered(mark, err, nil)
		return nil, err
	}
	var refused error
	if res.StatusCode > 299 {
		e := &client.Error{}
		json.Unmarshal(body, e)
		e.Status = res.StatusCode
		refused = e
	}
	res.Header.Set(operationHeader, w.mix.answered(mark, refused, body))
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// mostTries is how often a call is made that got no answer.
const mostTries = 8

// answered notes what came of a call and returns its operation.
func (m *mix) answered(mark string, err error, body []byte) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.under[mark]
	delete(m.under, mark)
	o, expected := traffic.Judge(err)
	if c.operation == "send" && client.HasCode(err, client.CodeLimitReached) {
		expected = true // the context is full
	}
	if !expected {
		m.ledger.Surprise("%s: %v", c.operation, err)
	}
	m.ledger.Count(c.operation + [...]string{" unanswered", "", " refused"}[o])
	if c.write != nil {
		m.ledger.Note(*c.write, o)
	}
	switch {
	case o == traffic.Accepted && c.done != nil:
		c.done(body)
	case o == traffic.Unknown && c.tries < mostTries:
		time.AfterFunc(time.Second, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.again = append(m.again, c)
		})
	}
	return c.operation
}
