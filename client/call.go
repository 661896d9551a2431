package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

// call is one logical call, however often it is tried.
type call struct {
	method string
	path   string // escaped, below the base URL
	query  url.Values
	body   any // nil for none
	// making says that the call makes something each time, so that it needs an id of its own to be repeated.
	making  bool
	key     string // that id
	options callOptions
}

// CallOption changes one call.
type CallOption func(*callOptions)

type callOptions struct {
	wait    time.Duration
	ifMatch string
	minimal bool
}

// WaitFor holds a send or a read until the worker answered, asked or finished, at most d (whole seconds, up to
// 30; the service answers after 25): the task as it then stands.
func WaitFor(d time.Duration) CallOption { return func(o *callOptions) { o.wait = d } }

// IfMatch makes a write only if the task still has this ETag; otherwise the answer is an Error with status 412.
func IfMatch(etag string) CallOption { return func(o *callOptions) { o.ifMatch = etag } }

// Minimal asks a write to answer without messages, which is cheaper on long tasks.
func Minimal() CallOption { return func(o *callOptions) { o.minimal = true } }

// The pauses between attempts: full jitter, doubling.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
)

// The most of an answer that is read. The service's own are under 6 MB.
const maxAnswer = 64 << 20

// do makes the call, repeating it as the package comment says, and decodes the answer into out unless that is
// nil; a *[]byte gets it as it is.
func (c *Client) do(ctx context.Context, do call, out any, options ...CallOption) (http.Header, int, error) {
	for _, option := range options {
		option(&do.options)
	}
	if do.making {
		do.key = newMessageID()
	}
	var body []byte
	if do.body != nil {
		var err error
		if body, err = encode(do.body); err != nil {
			return nil, 0, fmt.Errorf("baton: %s %s: %w", do.method, do.path, err)
		}
	}
	pause := firstPause
	for attempt := 0; ; attempt++ {
		header, status, answer, err := c.attempt(ctx, do, body)
		if err == nil {
			if raw, ok := out.(*[]byte); ok {
				*raw = answer
			} else if out != nil && len(answer) > 0 {
				if err := json.Unmarshal(answer, out); err != nil {
					return header, status, fmt.Errorf("baton: %s %s: answer: %w", do.method, do.path, err)
				}
			}
			return header, status, nil
		}
		if attempt > 0 && do.method == http.MethodDelete && HasStatus(err, http.StatusNotFound) {
			return http.Header{}, http.StatusNoContent, nil // an earlier attempt did it, and its answer was lost
		}
		wait, again := worthAnother(err)
		wait += time.Duration(rand.Int64N(int64(pause)))
		if !again || attempt >= c.retries || wait > c.maxWait || ctx.Err() != nil {
			return nil, 0, err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return nil, 0, err
		}
		pause = min(2*pause, lastPause)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, 0, err
		case <-timer.C:
		}
	}
}

// worthAnother says whether an attempt that failed so may be repeated, and how long the service asks to wait.
func worthAnother(err error) (wait time.Duration, again bool) {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.RetryAfter, refused.again()
	}
	return 0, true
}

// attempt is one try: a request and its whole answer.
func (c *Client) attempt(ctx context.Context, do call, body []byte) (http.Header, int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := c.request(ctx, do, body)
	if err != nil {
		// A request that can't be built can't be repeated either.
		return nil, 0, nil, &Error{Title: "not a request", Detail: fmt.Sprintf("%s %s: %v", do.method, do.path, err)}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, 0, nil, fmt.Errorf("baton: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, 0, nil, fmt.Errorf("baton: %s %s: answer cut off: %w", do.method, do.path, err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, 0, nil, newError(response, answer, time.Now())
	}
	return response.Header, response.StatusCode, answer, nil
}

func (c *Client) request(ctx context.Context, do call, body []byte) (*http.Request, error) {
	address := c.base + do.path
	query := url.Values{}
	for name, values := range do.query {
		query[name] = values
	}
	if seconds := int(do.options.wait / time.Second); seconds > 0 {
		query.Set("wait", fmt.Sprint(seconds))
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, do.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	set := func(name, value string) {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	set("Authorization", "Bearer "+c.key)
	set("Accept", "application/json") // without one the largest answers have their longest texts cut
	set("User-Agent", c.agent)
	set("X-Act-As-Identity", c.actAs)
	set("Idempotency-Key", do.key)
	set("If-Match", do.options.ifMatch)
	if do.options.minimal {
		set("Prefer", "return=minimal")
	}
	if do.body != nil {
		set("Content-Type", "application/json")
	}
	return request, nil
}

// encode writes JSON as it is meant: no HTML escapes, raw values digit for digit.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
