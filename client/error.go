package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Error is a refusal: the service's problem document (RFC 9457).
type Error struct {
	Status    int          `json:"status"`
	Code      string       `json:"code"` // stable, such as CodeTerminal; empty when what answered wasn't the service
	Type      string       `json:"type"`
	Title     string       `json:"title"`
	Detail    string       `json:"detail"`
	RequestID string       `json:"request_id"`
	Fields    []FieldError `json:"errors"` // what is wrong with which field, for a 400
	// RetryAfter is how long the service asks to wait before another try; zero when it doesn't say.
	RetryAfter time.Duration `json:"-"`
}

// FieldError says what is wrong with one field, header or query parameter.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Codes that callers act on. The service's OpenAPI document lists all.
const (
	CodeNotAdmitted  = "a2a.not_admitted"       // the worker doesn't take tasks from this requester
	CodeTerminal     = "a2a.task_terminal"      // the task has ended
	CodeTransition   = "a2a.invalid_transition" // not from this state
	CodeLimitReached = "a2a.limit_reached"      // the task or the context is full, or the organization owns as many of these as it may
	CodeConflict     = "a2a.conflict"           // lost too many races; repeating is right
	CodeLeaseLost    = "a2a.lease_lost"         // another claimer may have the task
	CodeHandleTaken  = "a2a.handle_taken"
	CodeThrottled    = "a2a.throttled"
	CodeQuota        = "a2a.quota_exceeded"
)

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "baton: %d", e.Status)
	for _, s := range []string{e.Code, e.Detail} {
		if s != "" {
			b.WriteString(" " + s)
		}
	}
	if e.Code == "" && e.Detail == "" {
		b.WriteString(" " + e.Title)
	}
	for _, f := range e.Fields {
		fmt.Fprintf(&b, "; %s: %s", f.Field, f.Message)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	return b.String()
}

// HasCode says whether err is, or wraps, an Error with this code.
func HasCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// HasStatus says whether err is, or wraps, an Error with this HTTP status.
func HasStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// again says whether the same call may succeed later without any change.
func (e *Error) again() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return e.Status == http.StatusConflict && e.Code == CodeConflict
}

// newError reads a refusal; what isn't a problem document leaves the status and its usual text.
func newError(r *http.Response, body []byte, now time.Time) *Error {
	e := &Error{}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/problem+json") || json.Unmarshal(body, e) != nil {
		e = &Error{Title: http.StatusText(r.StatusCode)}
	}
	e.Status = r.StatusCode
	e.RetryAfter = retryAfter(r.Header.Get("Retry-After"), now)
	return e
}

// retryAfter reads the header's two forms: seconds, and a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
