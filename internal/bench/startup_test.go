package bench

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"baton/internal/localstack"
	"baton/internal/webhook"

	"go.yaml.in/yaml/v3"
)

// aimBytes is the most that a function's program should have.
const aimBytes = 12 << 20

// sweptKey is the partition, in base64, of the item that says how far the sweep of deliveries is.
const sweptKey = `"Uw=="`

// Every function starts, answers its sample event, and is small.
func TestStartup(t *testing.T) {
	tree, err := localstack.FindTree()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	functions, err := tree.Build(t.Context(), dir, "./functions/...", "./internal/bench/hello")
	if err != nil {
		t.Fatal(err)
	}
	environments := environments(t, tree)
	rounds := 1
	if thorough() {
		rounds = 31
	}
	// In turns, so that whatever else the machine does meets all alike.
	took, ready := map[string][]time.Duration{}, map[string][]time.Duration{}
	for range rounds {
		for folder, f := range functions {
			name := path.Base(folder)
			event := []byte(`{}`)
			if sample, err := os.ReadFile(tree.Path("events", name+".json")); err == nil {
				event = sample
			}
			initialized, d, answer, err := start(t.Context(), f.Binary, environments[folder], event)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if answer.fault && name != "make-operator-key" { // which has nobody to tell its answer to here
				t.Errorf("%s: %s", name, answer.body)
			}
			took[name], ready[name] = append(took[name], d), append(ready[name], initialized)
		}
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2].Microseconds()) / 1000
	}
	report.hello, report.helloReady = median(took["hello"]), median(ready["hello"])
	for folder, f := range functions {
		name := path.Base(folder)
		if name == "hello" {
			continue
		}
		size, err := os.Stat(f.Binary)
		if err != nil {
			t.Fatal(err)
		}
		if size.Size() > aimBytes {
			t.Errorf("%s has %d bytes, more than %d", name, size.Size(), aimBytes)
		}
		answered, initialized := median(took[name]), median(ready[name])
		report.Startup[name] = Startup{answered, answered / report.hello, size.Size(), initialized, initialized / report.helloReady}
	}
}

// environments are the variables of each function, as template.yaml names them, in front of an AWS that knows nothing
// and says so at once.
func environments(t *testing.T, tree localstack.Tree) map[string][]string {
	t.Helper()
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		// But for how far the sweep of deliveries is: only the very first one of an installation looks at an hour.
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(sweptKey)) && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") {
			fmt.Fprintf(w, `{"Item":{"q":{"N":"%d"}}}`, time.Now().Add(webhook.LongestHop-5*time.Minute).Truncate(time.Minute).Unix())
			return
		}
		w.Write([]byte(`{}`))
	}))
	t.Cleanup(empty.Close)
	text, err := os.ReadFile(tree.Path("template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	type properties struct {
		CodeUri     string `yaml:"CodeUri"`
		Environment struct {
			Variables map[string]yaml.Node `yaml:"Variables"`
		} `yaml:"Environment"`
	}
	var template struct {
		Parameters map[string]struct {
			Default string `yaml:"Default"`
		} `yaml:"Parameters"`
		Globals struct {
			Function properties `yaml:"Function"`
		} `yaml:"Globals"`
		Resources map[string]struct {
			Type       string    `yaml:"Type"`
			Properties yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	value := func(name string, n yaml.Node) string {
		parameter, isParameter := template.Parameters[n.Value]
		switch {
		case strings.HasSuffix(name, "URL"):
			return empty.URL
		case n.Kind == yaml.ScalarNode && n.Tag == "!Ref" && isParameter:
			return parameter.Default // which may be empty
		case n.Kind == yaml.ScalarNode && !strings.HasPrefix(n.Tag, "!") || n.Tag == "!!int" || n.Tag == "!!str":
			return n.Value
		}
		return "bench-" + strings.ToLower(name)
	}
	all := map[string][]string{}
	for _, r := range template.Resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		var p properties
		if err := r.Properties.Decode(&p); err != nil {
			t.Fatal(err)
		}
		env := []string{
			"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=bench", "AWS_SECRET_ACCESS_KEY=bench", "AWS_ENDPOINT_URL=" + empty.URL,
			"AWS_LAMBDA_FUNCTION_NAME=bench", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		}
		for _, variables := range []map[string]yaml.Node{template.Globals.Function.Environment.Variables, p.Environment.Variables} {
			for name, n := range variables {
				env = append(env, name+"="+value(name, n))
			}
		}
		all[strings.Trim(p.CodeUri, "./")] = env
	}
	return all
}
