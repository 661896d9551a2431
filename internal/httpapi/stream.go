package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// StreamHandler is what a Lambda function serves whose answers are streamed through the gateway. It never returns an
// error.
type StreamHandler func(context.Context, events.APIGatewayProxyRequest) (any, error)

// writer writes an answer's body bit by bit, after its status is gone: an error only ends it.
type writer func(ctx context.Context, w io.Writer) error

// streaming makes an endpoint as handler does, of which the answer may be written while it is sent: serve returns a
// writer, or nil for an answer with a body of its own. Either may take longer than the gateway waits for others.
//
// This is the only place that knows of Options.Buffered: the local AWS takes an answer only in one piece.
func (e *Edge) streaming(endpoint string, serve func(*call) (answer, writer, error)) StreamHandler {
	routes := routesOf(endpoint)
	return func(ctx context.Context, request events.APIGatewayProxyRequest) (any, error) {
		record := e.begin(endpoint, request)
		if e.Meter != nil {
			ctx, record.usage = e.Meter(ctx)
		}
		c := &call{Context: ctx, edge: e, request: request, header: lower(request)}
		var write writer
		a, err := e.answer(c, routes, record, func(c *call) (a answer, err error) {
			a, write, err = serve(c)
			return a, err
		})
		if err != nil {
			record.cause, write = err, nil
			a = problemOf(err)
		}
		if write == nil {
			response := e.finish(a, record)
			if e.Buffered {
				return response, nil
			}
			return streamOf(response, bodyReader(response)), nil
		}
		response := events.APIGatewayProxyResponse{StatusCode: a.status, Headers: headers(a, record.requestID)}
		if e.Buffered {
			var body bytes.Buffer
			record.cause = written(ctx, write, &body)
			record.end(e, a.status, a)
			response.Body = body.String()
			return response, nil
		}
		read, pipe := io.Pipe()
		go func() {
			record.cause = written(ctx, write, pipe)
			record.end(e, a.status, a) // before the end of the body: then the instance is frozen
			pipe.Close()
		}()
		return streamOf(response, read), nil
	}
}

// written survives what a writer may do.
func written(ctx context.Context, write writer, to io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("httpapi: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return write(ctx, to)
}

func streamOf(r events.APIGatewayProxyResponse, body io.Reader) *events.APIGatewayProxyStreamingResponse {
	return &events.APIGatewayProxyStreamingResponse{StatusCode: r.StatusCode, Headers: r.Headers, Body: body}
}

func bodyReader(r events.APIGatewayProxyResponse) io.Reader {
	if r.IsBase64Encoded {
		return base64.NewDecoder(base64.StdEncoding, strings.NewReader(r.Body))
	}
	return strings.NewReader(r.Body)
}
