package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"baton/internal/cursor"
	"baton/internal/directory"
	"baton/internal/task"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-json-experiment/json"
)

// Handler is what a Lambda function serves. It never returns an error: the gateway would answer a bare 502.
type Handler func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error)

// Directory is what the edge asks of the directory for every request; directory.Service implements it.
type Directory interface {
	Authenticate(ctx context.Context, secret string) (directory.Principal, error)
	Agent(ctx context.Context, p directory.Principal, name string) (directory.Identity, error)
	Past(ctx context.Context, p directory.Principal, name string) (directory.Identity, error)
	Own(ctx context.Context, p directory.Principal) (directory.Identity, error)
}

// Meter counts what a request costs; store.WithUsage makes one.
type Meter func(context.Context) (context.Context, func() (read, write float64, calls int))

// Options are what an Edge needs.
type Options struct {
	Directory Directory
	Cursors   *cursor.Sealer // nil for an endpoint that pages through nothing
	Meter     Meter          // nil to count nothing
	Log       io.Writer      // one line of JSON a request
	Now       func() time.Time
	Buffered  bool // answers that are streamed elsewhere are given in one piece
}

// Edge is what all endpoints share.
type Edge struct{ Options }

// NewEdge returns an edge.
func NewEdge(o Options) *Edge { return &Edge{o} }

// maxBody is the most bytes of a body (contract section 2, "Limits").
const maxBody = 4_000_000

// call is one authenticated request.
type call struct {
	context.Context
	edge      *Edge
	route     Route
	request   events.APIGatewayProxyRequest
	header    map[string]string // names in lower case
	query     url.Values
	repeated  []string // names in the query that are there more than once
	body      []byte
	principal directory.Principal
	forbidden bool // the call names an agent that the key may not act as
}

// answer is what an endpoint answers: a body to be written as JSON, or none. tooLarge is what is answered instead when
// the body is too large and can't shrink.
type answer struct {
	status   int
	header   map[string]string
	body     any
	tooLarge error
}

// handler makes an endpoint of a function: of all its routes the one that was asked for is found in the table.
func (e *Edge) handler(endpoint string, serve func(*call) (answer, error)) Handler {
	routes := routesOf(endpoint)
	return func(ctx context.Context, request events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		record := e.begin(endpoint, request)
		if e.Meter != nil {
			ctx, record.usage = e.Meter(ctx)
		}
		c := &call{Context: ctx, edge: e, request: request, header: lower(request)}
		a, err := e.answer(c, routes, record, serve)
		if err != nil {
			record.cause = err
			a = problemOf(err)
		}
		return e.finish(a, record), nil
	}
}

// routesOf are the routes of an endpoint by method and path.
func routesOf(endpoint string) map[string]Route {
	routes := map[string]Route{}
	for _, r := range Routes {
		if r.Endpoint == endpoint {
			routes[r.Method+" "+r.Path] = r
		}
	}
	return routes
}

// answer does what comes before every endpoint, and survives what one may do.
func (e *Edge) answer(c *call, routes map[string]Route, record *record, serve func(*call) (answer, error)) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("httpapi: panic: %v\n%s", p, debug.Stack())
		}
	}()
	var ok bool
	if c.route, ok = routes[c.request.HTTPMethod+" "+c.request.Resource]; !ok {
		return answer{}, refusal{status: 404, code: codeNotFound, detail: "There is no such route."}
	}
	if c.principal, err = e.authenticate(c); err != nil {
		return answer{}, err
	}
	record.principal = c.principal
	c.query, c.repeated = queryOf(c.request)
	if c.body, err = bodyOf(c.request); err != nil {
		return answer{}, err
	}
	return serve(c)
}

// authenticate finds whose key the request shows, in either of two headers.
func (e *Edge) authenticate(c *call) (directory.Principal, error) {
	secret := c.header["x-api-key"]
	if authorization, there := c.header["authorization"]; there {
		scheme, bearer, _ := strings.Cut(authorization, " ")
		bearer = strings.TrimSpace(bearer)
		if !strings.EqualFold(scheme, "Bearer") || secret != "" && secret != bearer {
			return directory.Principal{}, directory.ErrUnauthenticated
		}
		secret = bearer
	}
	if secret == "" {
		return directory.Principal{}, directory.ErrUnauthenticated
	}
	return e.Directory.Authenticate(c, secret)
}

// still is nil while the key of a call that was held is good: what is told at its end is told as of then.
// ErrUnauthenticated, ErrUnavailable.
func (c *call) still() error {
	_, err := c.edge.authenticate(c)
	return err
}

// lower has the headers by their name in lower case, as HTTP/2 has them anyway. A repeated one, in whatever case, is the
// list of its values (RFC 9110, 5.3): so If-Match and Prefer may be repeated, and two keys, two agents or two media types
// are none, instead of the one that a proxy before us did not look at.
func lower(r events.APIGatewayProxyRequest) map[string]string {
	all := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(r.MultiValueHeaders)) {
		all[strings.ToLower(name)] = append(all[strings.ToLower(name)], r.MultiValueHeaders[name]...)
	}
	if len(all) == 0 { // the gateway fills both
		for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
			all[strings.ToLower(name)] = append(all[strings.ToLower(name)], r.Headers[name])
		}
	}
	header := make(map[string]string, len(all))
	for name, values := range all {
		header[name] = strings.Join(values, ", ")
	}
	return header
}

// repeats says whether a header, named in lower case, is there more than once.
func (c *call) repeats(header string) bool {
	n := 0
	for name, values := range c.request.MultiValueHeaders {
		if strings.ToLower(name) == header {
			n += len(values)
		}
	}
	if n > 0 {
		return n > 1
	}
	for name := range c.request.Headers {
		if strings.ToLower(name) == header {
			n++
		}
	}
	return n > 1
}

func queryOf(r events.APIGatewayProxyRequest) (query url.Values, repeated []string) {
	query = url.Values{}
	for name, value := range r.QueryStringParameters {
		query.Set(name, value)
	}
	for name, values := range r.MultiValueQueryStringParameters {
		if len(values) > 1 {
			repeated = append(repeated, name)
		}
		query[name] = values
	}
	slices.Sort(repeated)
	return query, repeated
}

func bodyOf(r events.APIGatewayProxyRequest) ([]byte, error) {
	body := []byte(r.Body)
	if r.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			return nil, invalid("body", "is not in the form that the gateway promises")
		}
	}
	if len(body) > maxBody {
		return nil, refusal{status: 413, code: codeTooLarge, detail: "A body may have 4 MB."}
	}
	return body, nil
}

const (
	// mostAnswer is the most bytes of an answer's body.
	mostAnswer = 5_000_000
	// mostBuffered is the most bytes of it inside of what Lambda is given, which takes 6,291,456 bytes in all (AWS, "Lambda
	// quotas"); the rest is the headers'.
	mostBuffered = 6_200_000
)

// shrinkable is an answer that can leave something out.
type shrinkable interface{ shrink() bool }

// finish writes an answer, and the log line about it.
func (e *Edge) finish(a answer, record *record) events.APIGatewayProxyResponse {
	response, err := write(a, record)
	if err != nil {
		record.cause = err
		a = problemOf(err)
		response, _ = write(a, record) // a problem has nothing that can fail
	}
	record.end(e, response.StatusCode, a)
	return response
}

// write turns an answer into what the gateway takes.
//
// It goes as text, which as JSON inside of JSON may be twice as long. Base64 is what stands against that, but the gateway
// decodes it only for a request with an Accept header; the others get an answer that leaves more out.
func write(a answer, record *record) (events.APIGatewayProxyResponse, error) {
	if p, ok := a.body.(*problem); ok {
		p.RequestID = record.requestID
	}
	response := events.APIGatewayProxyResponse{StatusCode: a.status, Headers: headers(a, record.requestID)}
	if a.body == nil {
		delete(response.Headers, "Content-Type")
		return response, nil
	}
	for {
		body, raw := a.body.(lines)
		var err error
		if !raw {
			body, err = json.Marshal(a.body, json.FormatNilSliceAsNull(true))
		}
		switch {
		case err != nil:
			return response, fmt.Errorf("httpapi: write: %w", err)
		case len(body) <= mostAnswer && quotedLen(body) <= mostBuffered:
			response.Body = string(body)
			return response, nil
		case record.accepts && len(body) <= mostAnswer && base64.StdEncoding.EncodedLen(len(body)) <= mostBuffered:
			response.Body, response.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
			return response, nil
		}
		if s, ok := a.body.(shrinkable); !ok || !s.shrink() {
			return response, cmp.Or(a.tooLarge, errors.New("httpapi: answer too large"))
		}
	}
}

// headers are those of an answer and those that all have.
func headers(a answer, requestID string) map[string]string {
	header := map[string]string{
		"Content-Type":              "application/json",
		"Cache-Control":             "no-store",
		"Strict-Transport-Security": "max-age=31536000",
		"X-Content-Type-Options":    "nosniff",
		"X-Request-Id":              requestID,
	}
	for name, value := range a.header {
		header[name] = value
	}
	return header
}

// quotedLen is the length of compact JSON as a string inside of JSON, as encoding/json writes it for Lambda.
func quotedLen(body []byte) int {
	separators := bytes.Count(body, []byte("\u2028")) + bytes.Count(body, []byte("\u2029"))
	return len(body) + bytes.Count(body, []byte(`"`)) + bytes.Count(body, []byte(`\`)) + 3*separators
}

// may refuses a principal without the route's right, or with it for another agent only.
func (c *call) may() error {
	if c.forbidden || !c.principal.May(c.route.Right) {
		return directory.ErrForbidden
	}
	return nil
}

// actor is the agent that the call is made as: of the path, of the header, or the key's own. ErrActAsMissing when an
// organization's key names none. One that the key may not act as is nobody, and may says so: what is malformed is
// answered before that (contract section 1, "Order of answers").
func (c *call) actor() (directory.Identity, error) {
	return c.orForbidden(c.named())
}

// orForbidden takes note of an agent that the key may not act as.
func (c *call) orForbidden(i directory.Identity, err error) (directory.Identity, error) {
	if errors.Is(err, directory.ErrForbidden) {
		c.forbidden = true
		return directory.Identity{}, nil
	}
	return i, err
}

func (c *call) named() (directory.Identity, error) {
	if name, there := c.request.PathParameters["agent"]; there {
		return c.edge.Directory.Agent(c, c.principal, pathValue(name))
	}
	if name, there := c.header["x-act-as-identity"]; there {
		if _, ok := directory.ParseRef(name); !ok {
			return directory.Identity{}, invalid("X-Act-As-Identity", "must be a handle or an identity's id")
		}
		return c.edge.Directory.Agent(c, c.principal, name)
	}
	if c.principal.Kind == directory.Operator {
		return directory.Identity{}, directory.ErrForbidden
	}
	return c.edge.Directory.Own(c, c.principal)
}

// viewer is who looks: the agent that the call names, or a whole organization where an org key names none.
func (c *call) viewer() (task.Viewer, error) {
	_, named := c.header["x-act-as-identity"]
	_, inPath := c.request.PathParameters["agent"]
	if c.principal.Kind != directory.Agent && !named && !inPath {
		return task.Viewer{Organization: c.principal.Organization, Side: c.route.Side}, nil
	}
	i, err := c.actor()
	return task.Viewer{Identity: i.ID, Organization: c.principal.Organization, Side: c.route.Side}, err
}

// taskID is the task of the path; a malformed one is one that doesn't exist.
func (c *call) taskID() (task.ID, error) {
	id, ok := task.GivenID(pathValue(c.request.PathParameters["id"]))
	if !ok {
		return task.ID{}, task.ErrNotFound
	}
	return id, nil
}

// pathValue undoes the escapes that the gateway leaves in a path.
func pathValue(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}
