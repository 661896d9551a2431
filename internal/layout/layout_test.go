// Package layout has the tests of the tree as a whole: that what one word names is there in every place, and that no room
// imports what it must not.
package layout

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"baton/internal/httpapi"

	"go.yaml.in/yaml/v3"
)

// TestMain runs the tests at the top of the tree.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// function is a function of the template.
type function struct {
	resource string
	routes   []string // such as "GET /v1/discover", in order
}

// functions are the template's, by their folders' names.
func functions(t *testing.T) map[string]function {
	t.Helper()
	text, err := os.ReadFile("template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Type       string `yaml:"Type"`
			Properties struct {
				CodeURI string `yaml:"CodeUri"`
				Events  map[string]struct {
					Type       string `yaml:"Type"`
					Properties struct {
						Method string `yaml:"Method"`
						Path   string `yaml:"Path"`
					} `yaml:"Properties"`
				} `yaml:"Events"`
			} `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	all := map[string]function{}
	for resource, r := range template.Resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		f := function{resource: resource}
		for _, e := range r.Properties.Events {
			if e.Type == "Api" {
				f.routes = append(f.routes, e.Properties.Method+" "+e.Properties.Path)
			}
		}
		slices.Sort(f.routes)
		all[strings.Trim(strings.TrimPrefix(r.Properties.CodeURI, "functions/"), "/")] = f
	}
	return all
}

// catchAll serves what no row of the route table does.
const catchAll = "refuse-route"

// TestOneWordEverywhere holds folders, template, route table and sample events against each other. (That the OpenAPI
// document has the same routes is httpapi's test.)
func TestOneWordEverywhere(t *testing.T) {
	declared := functions(t)
	folders, err := filepath.Glob("functions/*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, folder := range folders {
		names = append(names, filepath.Base(filepath.Dir(folder)))
	}
	if want := slices.Sorted(maps.Keys(declared)); !slices.Equal(names, want) {
		t.Errorf("functions/ has\n%v\ntemplate.yaml\n%v", names, want)
	}
	routes := map[string][]string{}
	for _, r := range httpapi.Routes {
		routes[r.Endpoint] = append(routes[r.Endpoint], r.Method+" "+r.Path)
	}
	for endpoint := range routes {
		if _, ok := declared[endpoint]; !ok {
			t.Errorf("the route table has %s, template.yaml has not", endpoint)
		}
		if file := "internal/httpapi/" + strings.ReplaceAll(endpoint, "-", "_") + ".go"; !exists(file) {
			t.Errorf("there is no %s", file)
		}
	}
	for name, f := range declared {
		if want := camel(name) + "Function"; f.resource != want {
			t.Errorf("functions/%s is %s in template.yaml, not %s", name, f.resource, want)
		}
		if slices.Sort(routes[name]); name != catchAll && !slices.Equal(f.routes, routes[name]) {
			t.Errorf("%s: template.yaml has the routes\n%v\nthe route table\n%v", name, f.routes, routes[name])
		}
		samples, _ := filepath.Glob("events/" + name + "*.json")
		if len(samples) == 0 {
			t.Errorf("there is no events/%s.json", name)
		}
		for _, sample := range samples {
			checkSample(t, sample, routes[name])
		}
	}
	samples, _ := filepath.Glob("events/*.json")
	for _, sample := range samples {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(filepath.Base(sample), name) }) {
			t.Errorf("%s is of no function", sample)
		}
	}
}

// checkSample looks whether a sample event is of one of its function's routes.
func checkSample(t *testing.T, file string, routes []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var e struct{ HTTPMethod, Resource string }
	if err := json.Unmarshal(text, &e); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	if routes != nil && !slices.Contains(routes, e.HTTPMethod+" "+e.Resource) {
		t.Errorf("%s is of %s %s", file, e.HTTPMethod, e.Resource)
	}
}

// TestMainsAreShort holds every main against its form: at most 40 lines, and it opens with what it serves.
func TestMainsAreShort(t *testing.T) {
	for name, f := range functions(t) {
		text, err := os.ReadFile("functions/" + name + "/main.go")
		if err != nil {
			t.Error(err)
			continue
		}
		if n := strings.Count(string(text), "\n"); n > 40 {
			t.Errorf("%s has %d lines", name, n)
		}
		comment, _, _ := strings.Cut(string(text), "\npackage main")
		if !strings.HasPrefix(comment, "// Command "+name+" serves") {
			t.Errorf("%s does not open with what it serves", name)
		}
		if name == catchAll {
			continue
		}
		shown := regexp.MustCompile(`(?m)^//\t([A-Z]+ /\S+)`).FindAllStringSubmatch(comment, -1)
		var routes []string
		for _, s := range shown {
			routes = append(routes, s[1])
		}
		if slices.Sort(routes); !slices.Equal(routes, f.routes) {
			t.Errorf("%s says that it serves\n%v\ntemplate.yaml has\n%v", name, routes, f.routes)
		}
	}
}

const aws, ours = "github.com/aws/", "baton/internal/"

// rooms says what must not be among all that a package is made of, directly or not, and why.
var rooms = []struct{ room, forbidden, reason string }{
	{ours + "task", "baton/", "it is what Baton is about, and knows no other room"},
	{ours + "task", aws, "it is said without AWS"},
	{ours + "task", "encoding/json", "wire shapes are httpapi's, item shapes store's"},
	{ours + "task", "net/http", "it is said without HTTP"},
	{ours + "search", "baton/", "words know nothing of tasks"},
	{ours + "directory", aws, "its rules are without storage"},
	{ours + "directory", ours + "store", "its rules are without storage"},
	{ours + "directory", "net/http", "its rules are without HTTP"},
	{ours + "cursor", aws, "it only seals"},
	{ours + "aside", "baton/", "it runs what it is given"},
	{ours + "metrics", "baton/", "it writes what it is given"},
	{ours + "metrics", aws, "a metric is a line of the log"},
	{ours + "httpapi", ours + "store", "the edge never sees DynamoDB"},
	{ours + "httpapi", aws + "aws-sdk-go-v2", "the edge never sees DynamoDB"},
	{ours + "store", ours + "httpapi", "storage never sees the edge"},
	{ours + "store", ours + "relay", "arrows point at task"},
	{ours + "relay", ours + "httpapi", "it is not of the edge"},
	{ours + "webhook", ours + "store", "it delivers what it is given"},
	{ours + "webhook", ours + "httpapi", "it is not of the edge"},
	{"baton/client", "baton/internal/", "others import it"},
	{"baton/client", aws, "a user of the service needs no AWS"},
	{"baton/functions/...", aws + "aws-sdk-go-v2/config", "it costs 7 ms of each cold start; see lambdaenv"},
	{"baton/functions/...", ours + "localaws", "only tests import it"},
	{"baton/functions/...", ours + "traffic", "only tests and the load run import it"},
	{"baton/functions/...", ours + "localstack", "only the local AWS needs it"},
	{"baton/functions/...", "testing", "only tests import it"},
}

func TestRooms(t *testing.T) {
	every := dependencies(t, "./...")
	for _, r := range rooms {
		found := dependencies(t, r.room)
		if len(found) == 0 {
			t.Errorf("there is no %s", r.room)
		}
		for _, path := range found {
			if strings.HasPrefix(path, r.forbidden) && path != r.room {
				t.Errorf("%s has %s in it: %s", r.room, path, r.reason)
			}
		}
		if r.forbidden != "testing" && !slices.ContainsFunc(every, func(path string) bool { return strings.HasPrefix(path, r.forbidden) }) {
			t.Errorf("%s may not have %s in it, which is nowhere: strike the rule, or mend it", r.room, r.forbidden)
		}
	}
}

// dependencies are all packages that a package is made of.
func dependencies(t *testing.T, pattern string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", pattern).Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v", pattern, err)
	}
	return strings.Fields(string(out))
}

// A metric that no room measures is one that somebody waits for in vain. (That alarms and dashboard know no others is
// infra's test.)
func TestEveryMetricIsMeasured(t *testing.T) {
	names, err := os.ReadFile("internal/metrics/names.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, room := range []string{"httpapi", "lambdaenv", "relay", "webhook"} {
		files, _ := filepath.Glob("internal/" + room + "/*.go")
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") {
				code.Write(text)
			}
		}
	}
	all := regexp.MustCompile(`(?m)^\t(\w+) += Metric\{"(\w+)"`).FindAllStringSubmatch(string(names), -1)
	if len(all) < 20 {
		t.Fatalf("found %d metrics", len(all))
	}
	for _, m := range all {
		if m[1] != m[2] {
			t.Errorf("the metric %s is called %s in code", m[2], m[1])
		}
		if !strings.Contains(code.String(), "metrics."+m[1]+".Of(") {
			t.Errorf("no room measures %s", m[1])
		}
	}
}

func camel(name string) (s string) {
	for word := range strings.SplitSeq(name, "-") {
		s += strings.ToUpper(word[:1]) + word[1:]
	}
	return s
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
