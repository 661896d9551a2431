package httpapi

import (
	"errors"
	"time"

	"baton/internal/directory"
	"baton/internal/metrics"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
)

// record becomes the one log line of a request. It has no text of a message and no key in it.
type record struct {
	began     time.Time
	endpoint  string
	method    string
	route     string
	requestID string
	accepts   bool // the request has an Accept header
	principal directory.Principal
	usage     func() (read, write float64, calls int)
	cause     error
}

// line is the log line, beside what is measured of the request.
type line struct {
	Time         string `json:"time"`
	Level        string `json:"level"`
	Message      string `json:"msg"`
	RequestID    string `json:"request_id"`
	KeyID        string `json:"key_id,omitempty"`
	Organization string `json:"organization_id,omitempty"`
	Identity     string `json:"identity_id,omitempty"`
	Method       string `json:"method"`
	Route        string `json:"route"`
	Endpoint     string `json:"endpoint"`
	Status       int    `json:"status"`
	Code         string `json:"code,omitempty"`
	Cause        string `json:"cause,omitempty"`
}

func (e *Edge) begin(endpoint string, r events.APIGatewayProxyRequest) *record {
	return &record{
		began: e.Now(), endpoint: endpoint, method: r.HTTPMethod, route: r.Resource, requestID: r.RequestContext.RequestID,
		accepts: lower(r)["accept"] != "",
	}
}

func (r *record) end(e *Edge, status int, a answer) {
	now := e.Now()
	l := line{
		Time: now.UTC().Format(time.RFC3339Nano), Level: "INFO", Message: "request", RequestID: r.requestID,
		Method: r.method, Route: r.route, Endpoint: r.endpoint, Status: status,
	}
	if !r.principal.KeyID.IsZero() {
		l.KeyID = r.principal.KeyID.String()
		l.Organization, l.Identity = some(r.principal.Organization), some(r.principal.Identity)
	}
	if p, ok := a.body.(*problem); ok {
		l.Code = p.Code
	}
	values := []metrics.Value{metrics.DurationMs.Of(float64(now.Sub(r.began).Microseconds()) / 1000)}
	if r.usage != nil {
		read, write, calls := r.usage()
		values = append(values, metrics.ReadUnits.Of(read), metrics.WriteUnits.Of(write), metrics.RoundTrips.Of(float64(calls)))
	}
	switch {
	case status == 401:
		values = append(values, metrics.RefusedKeys.Of(1))
	case status == 429:
		values = append(values, metrics.Throttled.Of(1))
	case status >= 500:
		l.Level = "ERROR"
		values = append(values, metrics.Faults.Of(1))
	}
	// What a caller did wrong needs no cause, and could hold what it sent.
	if r.cause != nil && (status >= 500 || errors.Is(r.cause, task.ErrConflict)) {
		l.Cause = r.cause.Error()
	}
	if text, err := metrics.Line(now, l, values...); err == nil {
		e.Log.Write(text)
	}
}

func some(id task.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}
