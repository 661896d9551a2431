package client

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client calls one Baton service with one key. Make it with New.
type Client struct {
	base    string
	key     string
	actAs   string
	agent   string
	http    *http.Client
	retries int
	timeout time.Duration
	maxWait time.Duration
}

// String keeps the key out of whatever prints a Client.
func (c Client) String() string { return "baton client for " + c.base }

// GoString is String.
func (c Client) GoString() string { return c.String() }

// Option changes how a new Client works.
type Option func(*Client)

// WithHTTPClient makes calls by h. The default has no time-out of its own and follows no redirects.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithRetries repeats a call up to n times; the default is 6, 0 is never.
func WithRetries(n int) Option { return func(c *Client) { c.retries = n } }

// WithAttemptTimeout gives up a single attempt after d, and counts that as a network error; the default is 40 s,
// which is more than the service takes for its longest wait.
func WithAttemptTimeout(d time.Duration) Option { return func(c *Client) { c.timeout = d } }

// WithUserAgent names the program to the service.
func WithUserAgent(name string) Option { return func(c *Client) { c.agent = name } }

// New returns a client for the service at baseURL, such as https://api.example.com/prod, with an agent's, an
// organization's or the operator's key. Nothing is called yet: a wrong URL or key shows at the first call.
func New(baseURL, key string, options ...Option) *Client {
	c := &Client{
		base:    strings.TrimRight(baseURL, "/"),
		key:     key,
		agent:   "baton-go",
		http:    &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		retries: 6,
		timeout: 40 * time.Second,
		maxWait: 60 * time.Second,
	}
	for _, option := range options {
		option(c)
	}
	return c
}

// ActAs returns a client that, with an organization's key, acts as one of its agents: by handle or identity id.
func (c *Client) ActAs(agent string) *Client {
	copied := *c
	copied.actAs = agent
	return &copied
}

// path builds an escaped path: "/v1/a2a/tasks/{}/reply" with the task's id in place of {}.
func path(pattern string, segments ...string) string {
	for _, s := range segments {
		pattern = strings.Replace(pattern, "{}", url.PathEscape(s), 1)
	}
	return pattern
}
