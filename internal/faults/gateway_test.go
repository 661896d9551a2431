package faults

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/events"
)

// gateway stands between the public client and the functions, as API Gateway and Lambda do: it finds the route, and runs one
// of the function's instances.
type gateway struct {
	mu        sync.Mutex
	instances []map[string]httpapi.Handler
	kill      func() (after time.Duration, killed bool) // asked for each call; nil kills none
}

// deploy replaces all instances.
func (g *gateway) deploy(instances ...map[string]httpapi.Handler) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.instances = instances
}

var errKilled = errors.New("the function was killed")

// RoundTrip implements http.RoundTripper.
func (g *gateway) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	endpoint, resource, parameters := match(r.Method, r.URL.Path)
	g.mu.Lock()
	handler, kill := g.instances[rand.IntN(len(g.instances))][endpoint], g.kill
	g.mu.Unlock()
	if handler == nil {
		return nil, errors.New("nobody serves " + r.Method + " " + r.URL.Path)
	}
	e := events.APIGatewayProxyRequest{
		Resource: resource, Path: r.URL.Path, HTTPMethod: r.Method, PathParameters: parameters, Headers: map[string]string{},
		QueryStringParameters: map[string]string{}, MultiValueQueryStringParameters: r.URL.Query(),
		RequestContext: events.APIGatewayProxyRequestContext{RequestID: "request"},
	}
	for name := range r.Header {
		e.Headers[name] = r.Header.Get(name)
	}
	for name := range r.URL.Query() {
		e.QueryStringParameters[name] = r.URL.Query().Get(name)
	}
	if len(body) > 0 {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	killed := false
	if kill != nil {
		var after time.Duration
		if after, killed = kill(); killed {
			time.AfterFunc(after, cancel)
		}
	}
	answer, err := handler(ctx, e)
	if err != nil {
		return nil, err
	}
	if killed && ctx.Err() != nil {
		return nil, errKilled // whatever it answered, it did not live to say it
	}
	raw := []byte(answer.Body)
	if answer.IsBase64Encoded {
		raw, _ = base64.StdEncoding.DecodeString(answer.Body)
	}
	header := http.Header{}
	for name, value := range answer.Headers {
		header.Set(name, value)
	}
	return &http.Response{
		StatusCode: answer.StatusCode, Header: header, Body: io.NopCloser(bytes.NewReader(raw)), Request: r,
		ContentLength: int64(len(raw)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// match finds the route as the gateway does: a literal step before a parameter.
func match(method, path string) (endpoint, resource string, parameters map[string]string) {
	steps, best := strings.Split(path, "/"), -1
	for _, route := range httpapi.Routes {
		pattern := strings.Split(route.Path, "/")
		if route.Method != method || len(pattern) != len(steps) {
			continue
		}
		literal, found := 0, map[string]string{}
		for i, step := range pattern {
			switch {
			case step == steps[i]:
				literal++
			case strings.HasPrefix(step, "{"):
				found[strings.Trim(step, "{}")] = steps[i]
			default:
				literal = -len(pattern)
			}
		}
		if literal > best {
			endpoint, resource, parameters, best = route.Endpoint, route.Path, found, literal
		}
	}
	return endpoint, resource, parameters
}
