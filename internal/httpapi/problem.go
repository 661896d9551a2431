package httpapi

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"baton/internal/directory"
	"baton/internal/task"
	"baton/internal/webhook"
)

// problem is an answer that says what is wrong (RFC 9457, contract section 6).
type problem struct {
	Type      string         `json:"type"`
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail"`
	Code      string         `json:"code"`
	RequestID string         `json:"request_id"`
	Errors    []problemField `json:"errors,omitempty"`
}

type problemField struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// refusal is an error of the edge itself.
type refusal struct {
	status int
	code   string
	detail string
	header map[string]string
}

func (r refusal) Error() string { return "httpapi: " + r.code + ": " + r.detail }

// The codes of problems. They are stable: clients tell cases apart by them.
const (
	codeInvalid      = "a2a.invalid_request"
	codeUnauthorized = "a2a.unauthorized"
	codeForbidden    = "a2a.forbidden"
	codeNotAdmitted  = "a2a.not_admitted"
	codeNotFound     = "a2a.not_found"
	codeMethod       = "a2a.method_not_allowed"
	codeConflict     = "a2a.conflict"
	codeTerminal     = "a2a.task_terminal"
	codeTransition   = "a2a.invalid_transition"
	codeLimit        = "a2a.limit_reached"
	codeLeaseLost    = "a2a.lease_lost"
	codeHandleTaken  = "a2a.handle_taken"
	codeThrottled    = "a2a.throttled"
	codeQuota        = "a2a.quota_exceeded"
	codePrecondition = "a2a.precondition_failed"
	codeCursorGone   = "a2a.cursor_gone"
	codeBusPending   = "a2a.bus_pending"
	codeTooLarge     = "a2a.body_too_large"
	codeMediaType    = "a2a.unsupported_media_type"
	codeUnavailable  = "a2a.unavailable"
	codeInternal     = "a2a.internal"
)

// kinds says which status, code and text each kind of error is answered with; the first that fits counts. What isn't
// listed is ours: 500 with a fixed text, and the cause goes to the log. Texts tell nothing that the caller may not know.
var kinds = []struct {
	err        error
	status     int
	code       string
	detail     string
	retryAfter int // seconds
}{
	{err: directory.ErrUnauthenticated, status: 401, code: codeUnauthorized, detail: "The request carries no key, or one that is unknown, expired or revoked."},
	{err: task.ErrNotFound, status: 404, code: codeNotFound, detail: "There is no such thing, or none that this key may know of."},
	{err: task.ErrContextNotFound, status: 404, code: codeNotFound, detail: "There is no such conversation of these two agents."},
	{err: directory.ErrNotFound, status: 404, code: codeNotFound, detail: "There is no such thing, or none that this key may know of."},
	{err: webhook.ErrNotFound, status: 404, code: codeNotFound, detail: "There is no such thing, or none that this key may know of."},
	{err: directory.ErrForbidden, status: 403, code: codeForbidden, detail: "This key may not do that."},
	{err: task.ErrWorkerOnly, status: 403, code: codeForbidden, detail: "Only the agent that the task was sent to may do that."},
	{err: task.ErrRequesterOnly, status: 403, code: codeForbidden, detail: "Only the agent that sent the task may do that."},
	{err: directory.ErrNotAdmitted, status: 403, code: codeNotAdmitted, detail: "The worker does not take tasks of this agent."},
	{err: task.ErrPrecondition, status: 412, code: codePrecondition, detail: "The task has another version than If-Match names."},
	{err: task.ErrTerminal, status: 409, code: codeTerminal, detail: "The task ended; nothing changes it any more."},
	{err: task.ErrTransition, status: 409, code: codeTransition, detail: "The task can not go there from the state that it is in."},
	{err: task.ErrTaskFull, status: 409, code: codeLimit, detail: "The task holds 500 messages; open another one."},
	{err: task.ErrContextFull, status: 409, code: codeLimit, detail: "The conversation holds 100 tasks; start another one."},
	{err: webhook.ErrTooMany, status: 409, code: codeLimit, detail: "The organization has 50 webhooks; delete one."},
	{err: webhook.ErrTooManyAtHost, status: 409, code: codeLimit, detail: "5 of the organization's webhooks at this host are told of the same events already."},
	{err: directory.ErrManyIdentities, status: 409, code: codeLimit, detail: "The organization has as many agents as it may; delete one."},
	{err: directory.ErrManyHandles, status: 409, code: codeLimit, detail: "The organization took 10,000 handles; what was taken stays taken."},
	{err: directory.ErrManyKeys, status: 409, code: codeLimit, detail: "The organization has as many keys as it may; revoke one."},
	{err: directory.ErrManyRequests, status: 409, code: codeLimit, detail: "500 of the organization's requests for connections are open; revoke one, or wait until one is decided."},
	{err: task.ErrLeaseLost, status: 409, code: codeLeaseLost, detail: "The lease is no longer current; the task may be another's."},
	{err: directory.ErrTransition, status: 409, code: codeTransition, detail: "It can not go there from the state that it is in."},
	{err: directory.ErrHandleTaken, status: 409, code: codeHandleTaken, detail: "The handle is taken."},
	{err: task.ErrGone, status: 410, code: codeCursorGone, detail: "Events are kept for 30 days, and the cursor is older: begin anew with since."},
	{err: directory.ErrNoBus, status: 409, code: codeBusPending, detail: "The organization has no event bus yet; what it missed is sent when it has."},
	{err: task.ErrConflict, status: 409, code: codeConflict, detail: "Too many others write at the same moment.", retryAfter: 1},
	{err: directory.ErrStale, status: 409, code: codeConflict, detail: "Too many others write at the same moment.", retryAfter: 1},
	{err: task.ErrUnavailable, status: 503, code: codeUnavailable, detail: "A service behind this one does not answer; a retry with the same message_id is safe.", retryAfter: 1},
}

// mostErrors is how many wrong fields an answer names: a body has room for a million, whose list no answer could hold.
const mostErrors = 50

// problemOf is the answer to an error.
func problemOf(err error) answer {
	if errors.Is(err, directory.ErrActAsMissing) {
		err = invalid("X-Act-As-Identity", "must say as which agent the organization's key acts")
	}
	var bad task.Invalid
	var r refusal
	var limited *directory.Limited
	switch {
	case errors.As(err, &limited):
		return limitedAnswer(limited)
	case errors.As(err, &bad):
		p := problem{Status: 400, Code: codeInvalid, Detail: "The request is not valid."}
		for _, f := range bad[:min(len(bad), mostErrors)] {
			p.Errors = append(p.Errors, problemField{f.Field, f.Message})
		}
		if len(bad) > 0 {
			p.Detail = bad[0].Field + " " + bad[0].Message
		}
		return problemAnswer(p)
	case errors.As(err, &r):
		a := problemAnswer(problem{Status: r.status, Code: r.code, Detail: r.detail})
		for name, value := range r.header {
			a.header[name] = value
		}
		return a
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			a := problemAnswer(problem{Status: k.status, Code: k.code, Detail: k.detail})
			if k.retryAfter > 0 {
				a.header["Retry-After"] = strconv.Itoa(k.retryAfter)
			}
			if k.status == 401 {
				a.header["WWW-Authenticate"] = "Bearer"
			}
			return a
		}
	}
	return problemAnswer(problem{Status: 500, Code: codeInternal, Detail: "Something went wrong on our side."})
}

func limitedAnswer(l *directory.Limited) answer {
	p := problem{Status: http.StatusTooManyRequests, Code: codeThrottled, Detail: "Too many sends in a short time."}
	if l.Quota {
		p.Code, p.Detail = codeQuota, "The worker has as many open tasks as it may."
	}
	a := problemAnswer(p)
	a.header["Retry-After"] = strconv.Itoa(int(math.Ceil(l.RetryAfter.Seconds())))
	return a
}

func problemAnswer(p problem) answer {
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
	return answer{status: p.Status, header: map[string]string{"Content-Type": "application/problem+json"}, body: &p}
}

func invalid(field, message string) error { return task.Invalid{{Field: field, Message: message}} }
