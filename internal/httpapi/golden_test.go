package httpapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

var update = flag.Bool("update", false, "write the golden answers anew")

// TestGoldenAnswers gives the sample events of the task endpoints to their functions, one conversation long, and holds
// the answers against testdata.
func TestGoldenAnswers(t *testing.T) {
	w := newWorld(t)
	g := &golden{world: w, names: map[string]string{}}
	g.sample("send-task", "asker", "", nil)
	id := g.last["id"].(string)
	g.context = g.last["context_id"].(string)
	g.sample("send-task", "asker", "", func(e *events.APIGatewayProxyRequest) { g.name = "send-task-again" })
	g.sample("reply-task", "helper", id, func(e *events.APIGatewayProxyRequest) {
		g.name = "reply-task-ask"
		e.Body = `{"intent":"ask_caller","parts":[{"text":"Which card?","metadata":{"lang":"en"}},{"data":{"cards":[4242,1881.50]}},{"file":{"uri":"https://example.com/cards.pdf","name":"cards.pdf","mime":"application/pdf"}}],"metadata":{"a":null},"extensions":["https://example.com/ext"],"reference_task_ids":["other"]}`
	})
	g.sample("read-task", "asker", id, nil)
	g.sample("add-message", "asker", id, nil)
	g.sample("add-message", "asker", id, func(e *events.APIGatewayProxyRequest) {
		g.name, e.Body = "add-message-minimal", `{"message":"Please hurry."}`
		e.Headers["Prefer"] = "return=minimal"
	})
	g.sample("list-tasks", "asker", "", nil)
	g.sample("search-messages", "helper", "", func(e *events.APIGatewayProxyRequest) { e.QueryStringParameters["q"] = "hurry" })
	g.sample("list-messages", "helper", id, func(e *events.APIGatewayProxyRequest) { e.QueryStringParameters["limit"] = "3" })
	g.sample("reply-task", "helper", id, nil)
	g.sample("set-task-state", "helper", id, func(*events.APIGatewayProxyRequest) { g.name = "set-task-state-ended" })
	g.sample("cancel-task", "asker", id, func(*events.APIGatewayProxyRequest) { g.name = "cancel-task-ended" })
	g.sample("cancel-task", "asker", w.sent(), nil)
	g.sample("set-task-state", "helper", w.sent(), nil)
	g.sample("list-tasks", "asker", "", func(e *events.APIGatewayProxyRequest) {
		g.name, e.Resource, e.Path = "list-tasks-deprecated", "/v1/a2a/tasks", "/v1/a2a/tasks"
		e.QueryStringParameters, e.MultiValueQueryStringParameters = map[string]string{"identity_id": w.asker.ID.String()}, nil
	})
	g.sample("send-task", "helper", "", func(e *events.APIGatewayProxyRequest) { // one of two is open
		g.name = "send-task-back"
		e.Body = fmt.Sprintf(`{"target_handle":"asker","message":"And a voucher?","context_id":%q}`, g.context)
	})
	g.sample("read-context", "asker", "", func(e *events.APIGatewayProxyRequest) { e.PathParameters["id"] = g.context })
	g.sample("list-contexts", "asker", "", func(e *events.APIGatewayProxyRequest) { e.QueryStringParameters["limit"] = "1" })
	g.sample("refuse-route", "asker", "", nil)
	g.sample("send-task", "asker", "", func(e *events.APIGatewayProxyRequest) {
		g.name, e.Body = "send-task-malformed", `{"target_handle":"@-","parts":[{"text":"x","data":1}],"message_id":""}`
	})
	g.sample("send-task", "stranger", "", func(e *events.APIGatewayProxyRequest) { g.name = "send-task-not-admitted" })
	g.sample("send-task", "nobody", "", func(e *events.APIGatewayProxyRequest) { g.name = "send-task-no-key" })
}

type golden struct {
	*world
	name    string
	last    map[string]any
	context string            // the conversation
	names   map[string]string // what changes from run to run, by what stands for it
}

var unstable = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|"next_cursor": "[\w-]+"`)

// sample gives a sample event to its function, with a real key and task in place of the made-up ones.
func (g *golden) sample(function, as, id string, change func(*events.APIGatewayProxyRequest)) {
	g.Helper()
	raw, err := os.ReadFile(filepath.Join("../../events", function+".json"))
	g.must(err)
	raw = bytes.ReplaceAll(raw, []byte("0f8a1c52-6d1e-4b7a-9c55-3f2f6f0d9a11"), []byte(id))
	raw = bytes.ReplaceAll(raw, []byte("refund-agent"), []byte("helper"))
	var e events.APIGatewayProxyRequest
	g.must(json.Unmarshal(raw, &e))
	e.Headers["Authorization"], e.MultiValueHeaders = "Bearer "+g.key[as], nil
	g.name = function
	if change != nil {
		change(&e)
		e.MultiValueQueryStringParameters = nil
	}
	e.MultiValueHeaders = map[string][]string{}
	for header, value := range e.Headers {
		e.MultiValueHeaders[header] = []string{value}
	}
	a := g.invoke(function, e)
	g.last = nil
	g.must(json.Unmarshal([]byte(a.body), &g.last))
	var pretty bytes.Buffer
	json.Indent(&pretty, []byte(a.body), "", "  ")
	var got strings.Builder
	fmt.Fprintln(&got, a.status)
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		fmt.Fprintf(&got, "%s: %s\n", name, a.header[name])
	}
	fmt.Fprintf(&got, "\n%s\n", pretty.String())
	text := unstable.ReplaceAllStringFunc(got.String(), func(s string) string {
		if strings.HasPrefix(s, `"next_cursor"`) {
			return `"next_cursor": "CURSOR"`
		}
		if strings.Contains(s, "T") {
			return "TIME"
		}
		if g.names[s] == "" {
			g.names[s] = fmt.Sprintf("ID-%d", len(g.names)+1)
		}
		return g.names[s]
	})
	file := filepath.Join("testdata", g.name+".golden")
	if *update {
		g.must(os.WriteFile(file, []byte(text), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	g.must(err)
	if string(want) != text {
		g.Errorf("%s: got\n%s\nwant\n%s", g.name, text, want)
	}
}
