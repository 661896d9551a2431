package httpapi

import (
	"errors"
	"time"

	"baton/internal/directory"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-json-experiment/json"
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

// line is the log line, which CloudWatch also takes metrics from (its embedded metric format, AWS, "Embedded metric
// format specification").
type line struct {
	Time         string  `json:"time"`
	Level        string  `json:"level"`
	Message      string  `json:"msg"`
	RequestID    string  `json:"request_id"`
	KeyID        string  `json:"key_id,omitempty"`
	Organization string  `json:"organization_id,omitempty"`
	Identity     string  `json:"identity_id,omitempty"`
	Method       string  `json:"method"`
	Route        string  `json:"route"`
	Status       int     `json:"status"`
	Code         string  `json:"code,omitempty"`
	Cause        string  `json:"cause,omitempty"`
	Endpoint     string  `json:"Endpoint"`
	Duration     float64 `json:"DurationMs"`
	ReadUnits    float64 `json:"ReadUnits"`
	WriteUnits   float64 `json:"WriteUnits"`
	RoundTrips   int     `json:"RoundTrips"`
	Refused      int     `json:"RefusedKeys"`
	Throttled    int     `json:"Throttled"`
	Faults       int     `json:"Faults"`
	AWS          aws     `json:"_aws"`
}

type aws struct {
	Timestamp int64        `json:"Timestamp"`
	Metrics   []metricsSet `json:"CloudWatchMetrics"`
}

type metricsSet struct {
	Namespace  string     `json:"Namespace"`
	Dimensions [][]string `json:"Dimensions"`
	Metrics    []metric   `json:"Metrics"`
}

type metric struct {
	Name string `json:"Name"`
	Unit string `json:"Unit"`
}

var requestMetrics = []metricsSet{{
	Namespace: "Baton", Dimensions: [][]string{{"Endpoint"}, {}},
	Metrics: []metric{
		{"DurationMs", "Milliseconds"}, {"ReadUnits", "Count"}, {"WriteUnits", "Count"}, {"RoundTrips", "Count"},
		{"RefusedKeys", "Count"}, {"Throttled", "Count"}, {"Faults", "Count"},
	},
}}

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
		Method: r.method, Route: r.route, Status: status, Endpoint: r.endpoint,
		Duration: float64(now.Sub(r.began).Microseconds()) / 1000,
		AWS:      aws{Timestamp: now.UnixMilli(), Metrics: requestMetrics},
	}
	if !r.principal.KeyID.IsZero() {
		l.KeyID = r.principal.KeyID.String()
		l.Organization, l.Identity = some(r.principal.Organization), some(r.principal.Identity)
	}
	if r.usage != nil {
		l.ReadUnits, l.WriteUnits, l.RoundTrips = r.usage()
	}
	if p, ok := a.body.(*problem); ok {
		l.Code = p.Code
	}
	switch {
	case status == 401:
		l.Refused = 1
	case status == 429:
		l.Throttled = 1
	case status >= 500:
		l.Level, l.Faults = "ERROR", 1
	}
	// What a caller did wrong needs no cause, and could hold what it sent.
	if r.cause != nil && (status >= 500 || errors.Is(r.cause, task.ErrConflict)) {
		l.Cause = r.cause.Error()
	}
	if text, err := json.Marshal(l); err == nil {
		e.Log.Write(append(text, '\n'))
	}
}

func some(id task.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}
