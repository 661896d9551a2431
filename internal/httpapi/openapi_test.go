package httpapi_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"baton/internal/httpapi"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const openapiFile = "../../docs/openapi.yaml"

type node = map[string]any

// openapi is the document that users read.
var openapi = sync.OnceValues(func() (node, error) {
	text, err := os.ReadFile(openapiFile)
	if err != nil {
		return nil, err
	}
	var doc node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	// As JSON has it: numbers are of one kind.
	plain, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	doc = nil
	return doc, json.Unmarshal(plain, &doc)
})

// document is openapi.
func document(t testing.TB) node {
	t.Helper()
	doc, err := openapi()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// at is what stands at a path of keys, nil for nothing.
func at(here node, keys ...string) node {
	for _, key := range keys {
		here, _ = here[key].(node)
	}
	return here
}

// resolved is an object of the document, or the one that it refers to.
func resolved(doc node, v any) node {
	here, _ := v.(node)
	if ref, ok := here["$ref"].(string); ok {
		return at(doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return here
}

// operation is what the document says of a route, nil when it is not there.
func operation(doc node, route httpapi.Route) node {
	return at(at(doc, "paths"), route.Path, strings.ToLower(route.Method))
}

func TestOpenAPIHasEveryRoute(t *testing.T) {
	doc := document(t)
	documented := map[string]bool{}
	ids := map[string]string{}
	for path, item := range at(doc, "paths") {
		for method, op := range item.(node) {
			if method == "parameters" {
				continue
			}
			name := strings.ToUpper(method) + " " + path
			documented[name] = true
			id, _ := op.(node)["operationId"].(string)
			if id == "" || ids[id] != "" {
				t.Errorf("%s: operationId %q is missing or %s's too", name, id, ids[id])
			}
			ids[id] = name
			if op.(node)["summary"] == nil || len(at(op.(node), "responses")) == 0 {
				t.Errorf("%s: no summary or no responses", name)
			}
		}
	}
	for _, route := range httpapi.Routes {
		name := route.Method + " " + route.Path
		if !documented[name] {
			t.Errorf("%s is not in %s", name, openapiFile)
		}
		delete(documented, name)
		var inPath []string
		for _, p := range parameters(doc, route) {
			if p["in"] == "path" {
				inPath = append(inPath, "{"+p["name"].(string)+"}")
			}
		}
		if want := regexp.MustCompile(`\{\w+\}`).FindAllString(route.Path, -1); !slices.Equal(inPath, want) {
			t.Errorf("%s: path parameters %v", name, inPath)
		}
	}
	for name := range documented {
		t.Errorf("%s is in %s only", name, openapiFile)
	}
}

// TestOpenAPIHasNoTornTexts looks for what a comma makes of a text without quotes inside of braces: YAML takes the rest of
// the text for a key without a value, the text is cut there, and readers that are strict refuse the document.
func TestOpenAPIHasNoTornTexts(t *testing.T) {
	var look func(path string, v any)
	look = func(path string, v any) {
		switch v := v.(type) {
		case nil:
			t.Errorf("%s has no value: is it the rest of a text without quotes?", path)
		case node:
			for key, value := range v {
				look(path+" › "+key, value)
			}
		case []any:
			for i, value := range v {
				look(fmt.Sprintf("%s › %d", path, i), value)
			}
		}
	}
	look(openapiFile, document(t))
}

// parameters are those of a route, of its path and its operation.
func parameters(doc node, route httpapi.Route) (all []node) {
	for _, from := range []node{at(at(doc, "paths"), route.Path), operation(doc, route)} {
		list, _ := from["parameters"].([]any)
		for _, p := range list {
			all = append(all, resolved(doc, p))
		}
	}
	return all
}

// TestOpenAPIParameters gives every route each of its query parameters, and one that it does not have.
func TestOpenAPIParameters(t *testing.T) {
	w, doc := newWorld(t), document(t)
	for _, route := range httpapi.Routes {
		if w.handlers[route.Endpoint] == nil {
			continue // it streams
		}
		path := strings.NewReplacer("{agent}", "asker", "{callee}", "helper", "{id}", nowhere).Replace(route.Path)
		query := []string{"surprise=1"}
		for _, p := range parameters(doc, route) {
			switch {
			case p["name"] == "identity_id":
				query = append(query, "identity_id="+w.asker.ID.String())
			case p["in"] == "query":
				query = append(query, p["name"].(string)+"=1")
			}
		}
		body := "{}"
		if route.Method == "GET" || route.Method == "DELETE" {
			body = ""
		}
		for _, as := range []string{"asker", "admin", "operator"} {
			a := w.do(request{method: route.Method, path: path + "?" + strings.Join(query, "&"), as: as, body: body, header: map[string]string{"X-Act-As-Identity": "asker"}})
			if a.status != 400 {
				continue // that key gets nowhere by this route
			}
			var unknown []string
			for _, e := range w.problem(a).Errors {
				if strings.Contains(e.Message, "is not a parameter") {
					unknown = append(unknown, e.Field)
				}
			}
			if !slices.Equal(unknown, []string{"surprise"}) {
				t.Errorf("%s %s: unknown parameters %v of %v", route.Method, route.Path, unknown, query)
			}
		}
	}
}

// TestOpenAPIBodies holds the fields of request bodies against the types that they are read into.
func TestOpenAPIBodies(t *testing.T) {
	doc := document(t)
	for name, body := range httpapi.Bodies {
		want := fieldsOf(body)
		got := slices.Sorted(maps.Keys(at(doc, "components", "schemas", name, "properties")))
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("schema %s has %v, the code %v", name, got, want)
		}
	}
}

func fieldsOf(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			names = append(names, fieldsOf(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// TestOpenAPICodes holds the list of codes against those in the code, and in the gateway's own answers.
func TestOpenAPICodes(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "code") && len(spec.Values) == 1 {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				code, _ := strconv.Unquote(lit.Value)
				codes[code] = true
			}
		}
		return true
	})
	template, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`"code":"([^"]+)"`).FindAllSubmatch(template, -1) {
		codes[string(found[1])] = true
	}
	listed := at(document(t), "components", "schemas", "Code")["enum"].([]any)
	for _, code := range listed {
		if !codes[code.(string)] {
			t.Errorf("%s is in %s only", code, openapiFile)
		}
		delete(codes, code.(string))
	}
	for code := range codes {
		t.Errorf("%s is not in %s", code, openapiFile)
	}
}

// schemas are the document's schemas, compiled; objects are closed, so that an undocumented field is found.
var schemas = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	doc, err := openapi()
	if err != nil {
		return nil, err
	}
	plain, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	closed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(plain)))
	if err != nil {
		return nil, err
	}
	closeObjects(at(closed.(node), "components", "schemas"))
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	return c, c.AddResource("openapi.json", closed)
})

func closeObjects(v any) {
	switch v := v.(type) {
	case node:
		if v["properties"] != nil && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, inner := range v {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range v {
			closeObjects(inner)
		}
	}
}

var compiled sync.Map // of schema by its place in the document

// agrees holds an answer against what the document says of its route.
func (w *world) agrees(route httpapi.Route, a reply) {
	w.Helper()
	const largest = 100_000 // larger ones have nothing new but length
	if len(a.body) > largest {
		return
	}
	doc := document(w)
	name := fmt.Sprintf("%s %s: %d", route.Method, route.Path, a.status)
	responses := at(operation(doc, route), "responses")
	entry := resolved(doc, responses[strconv.Itoa(a.status)])
	if entry == nil {
		entry = resolved(doc, responses["default"])
	}
	if entry == nil {
		w.Errorf("%s is not a documented answer: %.300s", name, a.body)
		return
	}
	content, _ := entry["content"].(node)
	if content == nil {
		if a.body != "" {
			w.Errorf("%s has a body that is not documented: %.300s", name, a.body)
		}
		return
	}
	media, _ := content[a.header["Content-Type"]].(node)
	if media == nil {
		w.Errorf("%s: content type %s is not documented", name, a.header["Content-Type"])
		return
	}
	ref, _ := at(media, "schema")["$ref"].(string)
	if ref == "" {
		return // a stream
	}
	schema, err := schemaAt(ref)
	w.must(err)
	body, err := jsonschema.UnmarshalJSON(strings.NewReader(a.body))
	w.must(err)
	if err := schema.Validate(body); err != nil {
		w.Errorf("%s is not as documented: %v: %.600s", name, err, a.body)
	}
	for header := range a.header {
		if common[header] {
			continue
		}
		if _, ok := at(entry, "headers")[header]; !ok {
			w.Errorf("%s: header %s is not documented", name, header)
		}
	}
}

// common are the headers of every answer.
var common = map[string]bool{"Content-Type": true, "Cache-Control": true, "Strict-Transport-Security": true, "X-Content-Type-Options": true, "X-Request-Id": true}

func schemaAt(ref string) (*jsonschema.Schema, error) {
	if found, ok := compiled.Load(ref); ok {
		return found.(*jsonschema.Schema), nil
	}
	c, err := schemas()
	if err != nil {
		return nil, err
	}
	s, err := c.Compile("openapi.json" + ref)
	if err != nil {
		return nil, err
	}
	compiled.Store(ref, s)
	return s, nil
}
