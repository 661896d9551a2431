package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// Standard Webhooks, "Request timeouts", recommends 15 to 30 s for the whole attempt.
	attemptWithin = 15 * time.Second
	// A response is only read to be shown in the delivery log.
	maxResponseHeader = 16 << 10
	maxResponse       = 1024
	userAgent         = "Baton-Webhooks/1"
)

// Request is one attempt to make.
type Request struct {
	// ID is the webhook-id: the delivery's, the same over all its tries, so that the receiver can tell a repetition.
	ID   string
	URL  string // as Check returned it
	Keys Keys
	Body []byte // JSON; sent and signed byte for byte
	// Header is sent too, but for what the sender sets itself.
	Header http.Header
}

// Result is what an attempt means for the delivery.
type Result string

const (
	Delivered Result = "delivered" // a 2xx
	Failed    Result = "failed"    // to be tried again
	Gone      Result = "gone"      // a 410: the receiver wants no more, the hook is to be disabled
)

// Problem is why an attempt failed, for the delivery log. It says no more than the receiver's owner may know: no address,
// no text of our network.
type Problem string

const (
	ProblemStatus     Problem = "http_status"       // answered, but not 2xx
	ProblemRedirect   Problem = "redirect"          // a 3xx, which is not followed
	ProblemURL        Problem = "invalid_url"       // not one that may be called (any more)
	ProblemAddress    Problem = "address_refused"   // the name leads to an address that is not public
	ProblemName       Problem = "name_unresolved"   // the name has no address
	ProblemConnection Problem = "connection_failed" // refused, reset or unreachable
	ProblemTLS        Problem = "tls_failed"        // no trusted certificate for the name, or no common version
	ProblemTimeout    Problem = "timeout"           // no answer within 15 s
	ProblemProtocol   Problem = "invalid_response"  // not HTTP, or headers over 16 KB
	ProblemInternal   Problem = "not_attempted"     // our fault; nothing was sent
)

// Outcome is what came of one attempt.
type Outcome struct {
	Result   Result
	Problem  Problem // empty when delivered
	Status   int     // 0 without a response
	Duration time.Duration
	// Response is the beginning of the body, at most 1,024 bytes of valid UTF-8 without control characters but tab and
	// newline.
	Response string
	// RetryAfter is how long the receiver asked us to wait (429 and 503 only), 0 when it didn't. Not bounded: see Next.
	RetryAfter time.Duration
}

// Sender makes attempts. Safe for concurrent use, and to be built once: but no connection outlives its attempt, so that
// nothing of one tenant's is there for the next one's.
type Sender struct {
	addresses Addresses
	client    *http.Client
}

// NewSender returns a sender that reaches what addresses allow, and trusts roots (the system's when nil).
func NewSender(addresses Addresses, roots *x509.CertPool) *Sender {
	return &Sender{
		addresses: addresses,
		client: &http.Client{
			// The answer of a redirect is the answer: its target was never checked, and the signature isn't for it.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				// A proxy, from the environment or not, would do the dialing, and out of the guard's sight.
				Proxy:                  nil,
				DialContext:            addresses.dialer().DialContext,
				TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout:    connectWithin,
				DisableKeepAlives:      true,
				DisableCompression:     true, // what is bounded shall be what came over the wire
				MaxResponseHeaderBytes: maxResponseHeader,
			},
		},
	}
}

// Send makes one attempt, of 15 s at most, signed as of now. Whatever happens is in the outcome.
func (s *Sender) Send(ctx context.Context, r Request, now time.Time) Outcome {
	ctx, cancel := context.WithTimeout(ctx, attemptWithin)
	defer cancel()
	started := time.Now()
	o := s.attempt(ctx, r, now)
	o.Duration = time.Since(started)
	return o
}

func (s *Sender) attempt(ctx context.Context, r Request, now time.Time) Outcome {
	// Again, although it was checked when it was registered: the rules may have become stricter since.
	u, message := s.addresses.parse(r.URL)
	if message != "" {
		return failure(ProblemURL)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(r.Body))
	if err != nil {
		return failure(ProblemURL)
	}
	for name, values := range r.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", userAgent)
	if err := r.Keys.sign(req.Header, r.ID, now, r.Body); err != nil {
		return failure(ProblemInternal)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return failure(problemOf(err))
	}
	defer resp.Body.Close()
	// One byte group more than is shown, so that a character on the edge is seen whole. A body that breaks off changes
	// nothing: the status was the answer.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxResponse+utf8.UTFMax))
	o := Outcome{Result: Failed, Problem: ProblemStatus, Status: resp.StatusCode, Response: printable(body)}
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		o.Result, o.Problem = Delivered, ""
	case resp.StatusCode == http.StatusGone: // Standard Webhooks, "Delivery success and failure"
		o.Result = Gone
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		o.Problem = ProblemRedirect
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusServiceUnavailable:
		o.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), now)
	}
	return o
}

func failure(p Problem) Outcome { return Outcome{Result: Failed, Problem: p} }

// problemOf is the one place that looks into the errors of net, tls and http.
func problemOf(err error) Problem {
	var (
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		alert       tls.AlertError
		record      tls.RecordHeaderError
		timeout     net.Error
		operation   *net.OpError
	)
	switch {
	case errors.Is(err, errAddress):
		return ProblemAddress
	case errors.As(err, &certificate), errors.As(err, &alert), errors.As(err, &record):
		return ProblemTLS
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ProblemTimeout
	case errors.As(err, &name):
		return ProblemName // a resolver's time-out too
	case errors.As(err, &timeout) && timeout.Timeout():
		return ProblemTimeout
	case errors.As(err, &operation) && operation.Op == "remote error":
		return ProblemTLS // crypto/tls reports the other side's alert so
	case errors.As(err, &operation), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ProblemConnection
	}
	return ProblemProtocol
}

// retryAfter reads both forms of RFC 9110 section 10.2.3; 0 for anything else and for times past.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}

// printable is what a stranger's bytes may look like in our JSON and logs: at most maxResponse bytes, cut at a character.
func printable(b []byte) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), "\uFFFD"))
	if len(clean) <= maxResponse {
		return clean
	}
	end := maxResponse
	for !utf8.RuneStart(clean[end]) {
		end--
	}
	return clean[:end]
}
