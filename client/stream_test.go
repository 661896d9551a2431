package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"baton/client"
)

// logOf serves a log of n events as the service streams it: each with the cursor behind it as its id. A connection is cut
// off where cut says.
func logOf(n int, cut func(connection int, whole string) string) http.HandlerFunc {
	connections := atomic.Int32{}
	return func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(strings.TrimPrefix(r.Header.Get("Last-Event-ID"), "c"))
		var b strings.Builder
		b.WriteString("retry: 1\n\n")
		for i := from + 1; i <= n; i++ {
			fmt.Fprintf(&b, ": nothing new\nid: c%d\n\n", i-1)
			fmt.Fprintf(&b, "id: c%d\nevent: a2a.task.created\ndata: {\"sequence\":%d,\"type\":\"a2a.task.created\"}\n\n", i, i)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write([]byte(cut(int(connections.Add(1)), b.String())))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler) // without a word
	}
}

// follow takes n events from a stream.
func follow(t *testing.T, url string, n int, f client.EventFilter) (sequences []int64, last string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	for e, err := range client.New(url, key).Stream(ctx, f) {
		if err != nil {
			t.Fatal(err)
		}
		if sequences, last = append(sequences, e.Sequence), e.Cursor; len(sequences) == n {
			return sequences, last
		}
	}
	t.Fatalf("the stream ended after %v", sequences)
	return nil, ""
}

// The first connection is cut off behind each of its bytes, in turn.
func TestStreamCutOffAtEveryByteGoesOn(t *testing.T) {
	whole := 0
	s := httptest.NewServer(logOf(2, func(_ int, text string) string { whole = max(whole, len(text)); return text }))
	follow(t, s.URL, 2, client.EventFilter{})
	s.Close()
	for at := range whole {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(logOf(2, func(connection int, text string) string {
				if connection == 1 {
					return text[:at]
				}
				return text
			}))
			defer s.Close()
			if got, last := follow(t, s.URL, 2, client.EventFilter{}); !slices.Equal(got, []int64{1, 2}) || last != "c2" {
				t.Errorf("it tells of %v, and ends at %s", got, last)
			}
		})
	}
}

func TestStreamGoesOnFromACursor(t *testing.T) {
	s := httptest.NewServer(logOf(5, func(_ int, text string) string { return text }))
	defer s.Close()
	if got, _ := follow(t, s.URL, 2, client.EventFilter{Cursor: "c3"}); !slices.Equal(got, []int64{4, 5}) {
		t.Errorf("from the third it tells of %v", got)
	}
}

// A connection that brings nothing takes back nothing of those before it.
func TestStreamCutOffAgainGoesOn(t *testing.T) {
	s := httptest.NewServer(logOf(3, func(connection int, text string) string {
		switch connection {
		case 1:
			return text[:strings.Index(text, "id: c2")]
		case 2:
			return "retry: 1\n\n"
		}
		return text
	}))
	defer s.Close()
	if got, last := follow(t, s.URL, 3, client.EventFilter{}); !slices.Equal(got, []int64{1, 2, 3}) || last != "c3" {
		t.Errorf("it tells of %v, and ends at %s", got, last)
	}
}

func TestStreamComesAgainWhenItIsAskedTo(t *testing.T) {
	for name, first := range map[string]answer{
		"a refusal":       problem(503, "a2a.unavailable", "1"),
		"an end in peace": ok("retry: 1000\n\n"),
	} {
		url, _ := serve(t, first, ok("id: c1\ndata: {\"sequence\":1}\n\n"))
		begin := time.Now()
		if follow(t, url, 1, client.EventFilter{}); time.Since(begin) < time.Second {
			t.Errorf("%s: it came again after %s", name, time.Since(begin))
		}
	}
}

func TestEventsGoOnFromWhereTheyWere(t *testing.T) {
	url, seen := serve(t, ok(`{"items":[{"sequence":1}],"cursor":"c1"}`), ok(`{"items":[],"cursor":"c2"}`),
		ok(`{"event":null,"cursor":"c3"}`), ok(`{"items":[],"cursor":"c4"}`), ok(`{"event":{"sequence":2},"cursor":"c5"}`),
		ok(`{"items":[{"sequence":3}],"cursor":"c6"}`))
	var got []int64
	for e, err := range client.New(url, key).Events(t.Context(), client.EventFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, e.Sequence); len(got) == 3 {
			break
		}
	}
	var uris []string
	for _, r := range seen() {
		uris = append(uris, strings.TrimPrefix(r.uri, "/v1/events"))
	}
	want := []string{"", "?cursor=c1", "/wait?cursor=c2&timeout_ms=25000", "?cursor=c3", "/wait?cursor=c4&timeout_ms=25000", "?cursor=c5"}
	if !slices.Equal(got, []int64{1, 2, 3}) || !slices.Equal(uris, want) {
		t.Errorf("it tells of %v, and asks for %q", got, uris)
	}
}

func TestStreamComesAgainAfterRefusals(t *testing.T) {
	url, seen := serve(t, drop, problem(503, "a2a.unavailable", ""), func(w http.ResponseWriter) { w.WriteHeader(502) },
		ok("id: c1\ndata: {\"sequence\":1}\n\n"))
	if got, _ := follow(t, url, 1, client.EventFilter{Type: "a2a.task.created"}); !slices.Equal(got, []int64{1}) {
		t.Errorf("it tells of %v", got)
	}
	if n := len(seen()); n < 4 {
		t.Errorf("%d connections", n)
	}
	for _, r := range seen() {
		if r.uri != "/v1/events/stream?type=a2a.task.created" || r.header.Get("Last-Event-ID") != "" {
			t.Errorf("asked for %s with %v", r.uri, r.header)
		}
	}
}

func TestStreamEndsAtARefusal(t *testing.T) {
	url, seen := serve(t, problem(410, "a2a.cursor_gone", ""))
	rounds := 0
	for _, err := range client.New(url, key).Stream(t.Context(), client.EventFilter{Cursor: "old"}) {
		if rounds++; !client.HasStatus(err, 410) {
			t.Error(err)
		}
	}
	if rounds != 1 || len(seen()) != 1 {
		t.Errorf("%d rounds, %d connections", rounds, len(seen()))
	}
}
