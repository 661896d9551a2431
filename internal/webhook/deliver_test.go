package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"
)

func aRequest(url string) Request {
	return Request{ID: "5f0c3b1e-0000-8000-8000-000000000001", URL: url, Keys: Keys{Current: NewSecret()}, Body: []byte(`{}`)}
}

func redirectTo(url string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url, http.StatusTemporaryRedirect) }
}

func TestWhatTheReceiverSees(t *testing.T) {
	var got *http.Request
	var body []byte
	r := newReceiver(t, func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	})
	req := aRequest(r.url + "/in?x=1")
	// Keys out of order, spaces, HTML and bytes that a re-encoding would change.
	req.Body = []byte("{ \"b\":1.0,\"a\":\"<ü>\u2028\" }\n")
	req.Header = http.Header{"X-Token": {"t"}, "webhook-id": {"forged"}, "User-agent": {"forged"}}
	req.Keys = req.Keys.Rotate(time.Now())

	o := r.sender.Send(context.Background(), req, time.Now())

	if o.Result != Delivered || o.Problem != "" || o.Status != 200 || o.Duration <= 0 {
		t.Fatalf("%+v", o)
	}
	if !bytes.Equal(body, req.Body) {
		t.Errorf("body came as %q", body)
	}
	for _, s := range []Secret{req.Keys.Current, req.Keys.Previous} {
		if err := verify(t, s, got.Header, body); err != nil {
			t.Error(err)
		}
	}
	if got.Method != "POST" || got.URL.String() != "/in?x=1" || got.ContentLength != int64(len(req.Body)) {
		t.Errorf("%s %s with %d bytes", got.Method, got.URL, got.ContentLength)
	}
	for name, want := range map[string]string{
		"User-Agent": "Baton-Webhooks/1", "Content-Type": "application/json", "Webhook-Id": req.ID, "X-Token": "t",
		"Accept-Encoding": "", "Connection": "close",
	} {
		if v := strings.Join(got.Header.Values(name), "|"); v != want {
			t.Errorf("%s is %q, want %q", name, v, want)
		}
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	answer := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
		}
	}
	for _, row := range []struct {
		name    string
		handler http.HandlerFunc
		result  Result
		problem Problem
		wait    time.Duration
	}{
		{"200 delivers", answer(200), Delivered, "", 0},
		{"204 delivers", answer(204), Delivered, "", 0},
		{"299 delivers", answer(299), Delivered, "", 0},
		{"200 with Retry-After delivers", answer(200, "Retry-After", "9"), Delivered, "", 0},
		{"301 fails", answer(301, "Location", "https://hooks.example.com/"), Failed, ProblemRedirect, 0},
		{"304 fails", answer(304), Failed, ProblemRedirect, 0},
		{"307 without a target fails", answer(307), Failed, ProblemRedirect, 0},
		{"400 fails", answer(400), Failed, ProblemStatus, 0},
		{"404 fails", answer(404), Failed, ProblemStatus, 0},
		{"410 is the end", answer(410), Gone, ProblemStatus, 0},
		{"429 fails", answer(429), Failed, ProblemStatus, 0},
		{"429 says when in seconds", answer(429, "Retry-After", "120"), Failed, ProblemStatus, 2 * time.Minute},
		{"503 says when as a date", answer(503, "Retry-After", now.Add(time.Hour).UTC().Format(http.TimeFormat)), Failed, ProblemStatus, time.Hour},
		{"503 names a date that is past", answer(503, "Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"), Failed, ProblemStatus, 0},
		{"503 with nonsense", answer(503, "Retry-After", "-1"), Failed, ProblemStatus, 0},
		{"503 with a number beyond all numbers", answer(503, "Retry-After", "99999999999999999999"), Failed, ProblemStatus, 0},
		{"500 is not asked when", answer(500, "Retry-After", "120"), Failed, ProblemStatus, 0},
		{"headers without end", answer(200, "X-Long", strings.Repeat("x", 64<<10)), Failed, ProblemProtocol, 0},
		{"a cut connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Failed, ProblemConnection, 0},
		{"a body that breaks off after the status", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("ok"))
		}, Delivered, "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newReceiver(t, row.handler)
			o := r.sender.Send(context.Background(), aRequest(r.url), now)
			if o.Result != row.result || o.Problem != row.problem || o.RetryAfter != row.wait {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestOneAttemptIsOneRequest(t *testing.T) {
	var calls, connections atomic.Int32
	r := newReceiver(t, func(http.ResponseWriter, *http.Request) {
		calls.Add(1)
		panic(http.ErrAbortHandler)
	})
	for range 3 {
		r.sender.Send(context.Background(), aRequest(r.url), time.Now())
	}
	if calls.Load() != 3 {
		t.Errorf("%d requests for 3 attempts", calls.Load())
	}

	counted := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	counted.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	counted.Start()
	defer counted.Close()
	a := Addresses{Local: []netip.AddrPort{netip.MustParseAddrPort(counted.Listener.Addr().String())}}
	s := NewSender(a, nil)
	for range 3 {
		if o := s.Send(context.Background(), aRequest(counted.URL), time.Now()); o.Result != Delivered {
			t.Fatalf("%+v", o)
		}
	}
	if connections.Load() != 3 {
		t.Errorf("%d connections for 3 attempts", connections.Load())
	}
}

func TestWithoutAnAnswer(t *testing.T) {
	r := newReceiver(t, func(http.ResponseWriter, *http.Request) {})
	local := func(l net.Listener) Addresses {
		return Addresses{Local: []netip.AddrPort{netip.MustParseAddrPort(l.Addr().String())}}
	}
	listen := func(t *testing.T, serve func(net.Conn)) net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() { defer c.Close(); serve(c) }()
			}
		}()
		return l
	}
	send := func(a Addresses, url string) Outcome {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		return NewSender(a, r.roots).Send(ctx, aRequest(url), time.Now())
	}
	check := func(t *testing.T, o Outcome, want Problem) {
		t.Helper()
		if o.Result != Failed || o.Problem != want || o.Response != "" || o.Status != 0 {
			t.Errorf("%+v, want %s", o, want)
		}
	}
	silence := func(c net.Conn) { io.Copy(io.Discard, c) }

	t.Run("nobody listens", func(t *testing.T) {
		l := listen(t, silence)
		a := local(l)
		l.Close()
		check(t, send(a, "https://"+l.Addr().String()), ProblemConnection)
	})
	t.Run("silence instead of a handshake", func(t *testing.T) {
		l := listen(t, silence)
		check(t, send(local(l), "https://"+l.Addr().String()), ProblemTimeout)
	})
	t.Run("silence instead of an answer", func(t *testing.T) {
		l := listen(t, silence)
		check(t, send(local(l), "http://"+l.Addr().String()), ProblemTimeout)
	})
	t.Run("plain text instead of TLS", func(t *testing.T) {
		l := listen(t, func(c net.Conn) { fmt.Fprint(c, "220 mail.example.com ready\r\n"); silence(c) })
		check(t, send(local(l), "https://"+l.Addr().String()), ProblemTLS)
	})
	t.Run("something else than HTTP", func(t *testing.T) {
		l := listen(t, func(c net.Conn) { fmt.Fprint(c, "-ERR unknown command\r\n"); silence(c) })
		check(t, send(local(l), "http://"+l.Addr().String()), ProblemProtocol)
	})
	t.Run("a certificate that nobody trusts", func(t *testing.T) {
		o := NewSender(Addresses{Local: []netip.AddrPort{r.at}}, nil).Send(context.Background(), aRequest(r.url), time.Now())
		check(t, o, ProblemTLS)
	})
	t.Run("a certificate of another name", func(t *testing.T) {
		a := Addresses{Local: []netip.AddrPort{r.at}, Resolver: resolver(t, map[string][][]string{"other.invalid.": {{"127.0.0.1"}}})}
		check(t, send(a, fmt.Sprintf("https://other.invalid:%d", r.at.Port())), ProblemTLS)
	})
	t.Run("only an old version of TLS", func(t *testing.T) {
		old := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
		old.StartTLS()
		defer old.Close()
		check(t, send(local(old.Listener), old.URL), ProblemTLS)
	})
	t.Run("nothing to sign with", func(t *testing.T) {
		req := aRequest(r.url)
		req.Keys = Keys{}
		check(t, r.sender.Send(context.Background(), req, time.Now()), ProblemInternal)
	})
	t.Run("a header that would smuggle another", func(t *testing.T) {
		req := aRequest(r.url)
		req.Header = http.Header{"X-Token": {"a\r\nX-Other: b"}}
		check(t, r.sender.Send(context.Background(), req, time.Now()), ProblemProtocol)
	})
}

func TestABodyWithoutEndIsNotReadToItsEnd(t *testing.T) {
	var sent atomic.Int64
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := bytes.Repeat([]byte("ü"), 4096)
		for sent.Load() < 1<<30 {
			n, err := w.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	started := time.Now()
	o := r.sender.Send(context.Background(), aRequest(r.url), time.Now())
	if o.Result != Delivered || time.Since(started) > 5*time.Second || sent.Load() > 64<<20 {
		t.Errorf("%+v after %s and %d bytes", o, time.Since(started), sent.Load())
	}
	if len(o.Response) != 1024 || !utf8.ValidString(o.Response) {
		t.Errorf("%d bytes are kept", len(o.Response))
	}
}

func TestPrintable(t *testing.T) {
	for _, row := range []struct{ name, in, out string }{
		{"text stays", "a\tb\nü", "a\tb\nü"},
		{"control characters go", "a\x00\x1b[31mb\r\n\u0085", "a[31mb\n"},
		{"broken UTF-8 is marked", "a\xff\xfeb", "a\uFFFDb"},
		{"long text is cut", strings.Repeat("x", 2000), strings.Repeat("x", 1024)},
		{"a character on the edge is left out whole", strings.Repeat("x", 1022) + "€€", strings.Repeat("x", 1022)},
		{"a character that just fits stays", strings.Repeat("x", 1021) + "€€", strings.Repeat("x", 1021) + "€"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := printable([]byte(row.in)); got != row.out {
				t.Errorf("%q", got)
			}
		})
	}
}
