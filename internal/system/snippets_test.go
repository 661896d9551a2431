package system

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/client"
	"baton/internal/localaws"
)

// The programs in docs/workers.md, run as they stand there.

// language is one that the page has programs in.
type language struct {
	fence, command, file string
	slowly               [2]string // makes the work take longer than a lease
	judge                string    // reads a request and says whether it is verified
}

var python = language{
	"python", "python3", "worker.py",
	[2]string{"def answer(task):\n", "def answer(task):\n    time.sleep(40)\n"},
	`
import email.message, json, sys
request, headers = json.load(sys.stdin), email.message.Message()
for name, value in request["headers"].items():
    headers[name] = value
print(json.dumps(verified(headers, request["body"].encode(), request["secret"])))
`,
}

var javascript = language{
	"js", "node", "worker.mjs",
	[2]string{"async task => ", "async task => await new Promise(done => setTimeout(done, 40_000)) ?? "},
	`
import { readFileSync } from "node:fs";
const { headers, body, secret } = JSON.parse(readFileSync(0));
const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
console.log(verified(lower, Buffer.from(body), secret));
`,
}

// languages are those whose programs can be run here: make test does without node, CI does not.
func languages(t *testing.T) []language {
	t.Helper()
	if _, err := exec.LookPath(javascript.command); err != nil && os.Getenv("CI") == "" {
		t.Log("without node: its programs are not run")
		return []language{python}
	}
	return []language{python, javascript}
}

// programs are a language's: the worker and the function that verifies.
func (l language) programs(t *testing.T) (worker, verified string) {
	t.Helper()
	page, err := os.ReadFile(tree(t).Path("docs", "workers.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?ms)^```"+l.fence+"\n(.*?)^```$").FindAllSubmatch(page, -1)
	if len(found) != 2 {
		t.Fatalf("%d programs in %s, want a worker and one that verifies", len(found), l.fence)
	}
	return string(found[0][1]), string(found[1][1])
}

// run is a program, which is killed when ctx ends.
func (l language) run(ctx context.Context, t *testing.T, program string) *exec.Cmd {
	t.Helper()
	file := filepath.Join(t.TempDir(), l.file)
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(ctx, l.command, file)
}

// unreliable leads to the service. It cuts the first claim off, refuses the second, and loses the answer to what first
// ends a task.
func unreliable(t *testing.T) (address string) {
	t.Helper()
	to, err := url.Parse(localaws.Stack(t).APIURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	var mu sync.Mutex
	claims, ends := 0, 0
	count := func(n *int) int {
		mu.Lock()
		defer mu.Unlock()
		*n++
		return *n
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		body.ReadFrom(r.Body)
		r.Body, r.Host = http.NoBody, to.Host
		if body.Len() > 0 {
			r.Body = readCloser{bytes.NewReader(body.Bytes())}
		}
		if strings.HasSuffix(r.URL.Path, "/claim") {
			switch count(&claims) {
			case 1:
				panic(http.ErrAbortHandler)
			case 2:
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		}
		if bytes.Contains(body.Bytes(), []byte(`"complete"`)) && count(&ends) == 1 {
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// A worker of the page keeps a task for longer than its lease, and answers it once, whatever is lost on the way.
func TestThePagesWorkers(t *testing.T) {
	t.Parallel()
	for _, l := range languages(t) {
		t.Run(l.fence, func(t *testing.T) {
			t.Parallel()
			worker, _ := l.programs(t)
			if !strings.Contains(worker, l.slowly[0]) {
				t.Fatalf("the worker has no %q", l.slowly[0])
			}
			from, to := pair(t)
			sent := newTask(t, from, to, "how many are these")
			ctx, stop := context.WithCancel(t.Context())
			run := l.run(ctx, t, strings.Replace(worker, l.slowly[0], l.slowly[1], 1))
			run.Env = append(os.Environ(), "BATON_URL="+unreliable(t), "BATON_KEY="+to.Key)
			var said bytes.Buffer
			run.Stdout, run.Stderr = &said, &said
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, "the claim", func() bool { return read(t, from, sent.ID).State == client.Working })
			for read(t, from, sent.ID).State == client.Working {
				others, err := to.Client.Claim(t.Context(), client.ClaimOptions{Wait: 5 * time.Second})
				if err != nil || len(others) > 0 {
					t.Fatalf("another claimer got %+v, %v", others, err)
				}
			}
			answered(t, from, sent.ID, 4)
			time.Sleep(2 * time.Second) // the lost answer is asked for again
			stop()
			run.Wait()
			if said.Len() > 0 {
				t.Errorf("it said %s", said.String())
			}
			if n := len(history(t, from, sent.ID)); n != 2 {
				t.Errorf("%d messages", n)
			}
		})
	}
}

// What the page says of signatures holds for real requests, and for nothing else.
func TestThePagesVerification(t *testing.T) {
	t.Parallel()
	w, r := world(t), newReceiver(t)
	from, to := pair(t)
	hook := subscribe(t, w.Bank, to, r, client.EventCreated)
	newTask(t, from, to, "söme wörds 漢字")
	got := r.all(t, 1)[0]
	rotated, err := w.Bank.Admin.RotateWebhookSecret(t.Context(), hook.ID)
	if err != nil {
		t.Fatal(err)
	}
	newTask(t, from, to, "with two signatures")
	both := r.all(t, 2)[1]
	for _, l := range languages(t) {
		_, verified := l.programs(t)
		for name, c := range map[string]struct {
			a      arrival
			secret string
			change func(header map[string]string, body *string)
			want   bool
		}{
			"as it came":              {got, hook.Secret, nil, true},
			"with the secret before":  {both, hook.Secret, nil, true},
			"with the secret after":   {both, rotated.Secret, nil, true},
			"with another secret":     {got, rotated.Secret, nil, false},
			"with another body":       {got, hook.Secret, func(_ map[string]string, b *string) { *b += " " }, false},
			"with another id":         {got, hook.Secret, func(h map[string]string, _ *string) { h["Webhook-Id"] += "0" }, false},
			"with an old time":        {got, hook.Secret, func(h map[string]string, _ *string) { h["Webhook-Timestamp"] = "1700000000" }, false},
			"with a time that is no":  {got, hook.Secret, func(h map[string]string, _ *string) { h["Webhook-Timestamp"] = "soon" }, false},
			"with another signature":  {got, hook.Secret, func(h map[string]string, _ *string) { h["Webhook-Signature"] = "v1,AAAA v2,ü" }, false},
			"without a signature":     {got, hook.Secret, func(h map[string]string, _ *string) { delete(h, "Webhook-Signature") }, false},
			"without any such header": {got, hook.Secret, func(h map[string]string, _ *string) { clear(h) }, false},
		} {
			header, body := map[string]string{}, string(c.a.body)
			for key := range c.a.header {
				header[key] = c.a.header.Get(key)
			}
			if c.change != nil {
				c.change(header, &body)
			}
			given, err := json.Marshal(map[string]any{"headers": header, "body": body, "secret": c.secret})
			if err != nil {
				t.Fatal(err)
			}
			run := l.run(t.Context(), t, verified+l.judge)
			run.Stdin = bytes.NewReader(given)
			out, err := run.CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != fmt.Sprint(c.want) {
				t.Errorf("%s, %s: %v %s, want %v", l.fence, name, err, out, c.want)
			}
		}
	}
}
