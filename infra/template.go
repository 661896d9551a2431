package infra

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Template is template.yaml or what was synthesized of it, with CloudFormation's short forms (!Ref) written out, so
// that two templates can be compared.
type Template struct {
	Parameters map[string]any
	Resources  map[string]Resource
	Outputs    map[string]any
	whole      map[string]any
}

// Resource is one resource of a template.
type Resource struct {
	Type       string
	Properties map[string]any
	whole      map[string]any
}

// ReadTemplate reads a template, of JSON or YAML.
func ReadTemplate(path string) (Template, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Template{}, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return Template{}, fmt.Errorf("%s: %w", path, err)
	}
	value, err := plain(&root)
	if err != nil {
		return Template{}, fmt.Errorf("%s: %w", path, err)
	}
	whole, _ := value.(map[string]any)
	t := Template{Resources: map[string]Resource{}, whole: whole}
	t.Parameters, _ = whole["Parameters"].(map[string]any)
	t.Outputs, _ = whole["Outputs"].(map[string]any)
	resources, _ := whole["Resources"].(map[string]any)
	for id, r := range resources {
		whole, ok := r.(map[string]any)
		if !ok {
			return Template{}, fmt.Errorf("%s: resource %s is no mapping", path, id)
		}
		resource := Resource{whole: whole}
		resource.Type, _ = whole["Type"].(string)
		resource.Properties, _ = whole["Properties"].(map[string]any)
		t.Resources[id] = resource
	}
	return t, nil
}

// plain is a node's value, with !Ref and its like as the mappings that they stand for.
func plain(n *yaml.Node) (any, error) {
	var value any
	switch n.Kind {
	case yaml.DocumentNode:
		return plain(n.Content[0])
	case yaml.AliasNode:
		return plain(n.Alias)
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := plain(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			m[n.Content[i].Value] = v
		}
		if v, ok := m["Fn::GetAtt"]; ok && len(m) == 1 {
			m["Fn::GetAtt"] = attribute(v)
		}
		value = m
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			v, err := plain(c)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		value = list
	default:
		if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
			value = n.Value
			break
		}
		if err := n.Decode(&value); err != nil {
			return nil, err
		}
	}
	if !strings.HasPrefix(n.Tag, "!") || strings.HasPrefix(n.Tag, "!!") {
		return value, nil
	}
	switch name := n.Tag[1:]; name {
	case "Ref", "Condition":
		return map[string]any{name: value}, nil
	case "GetAtt":
		return map[string]any{"Fn::GetAtt": attribute(value)}, nil
	default:
		return map[string]any{"Fn::" + name: value}, nil
	}
}

// attribute is an attribute's name as a list of two, of which "Table.Arn" is the short form.
func attribute(value any) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	id, name, _ := strings.Cut(text, ".")
	return []any{id, name}
}

// ids are the resources of a type, in order.
func (t Template) ids(kind string) []string {
	var found []string
	for id, r := range t.Resources {
		if r.Type == kind {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	return found
}

const (
	functionType = "AWS::Serverless::Function"
	tableType    = "AWS::DynamoDB::Table"
	secretType   = "AWS::SecretsManager::Secret"
	queueType    = "AWS::SQS::Queue"
)

// events are the types of what starts a function: "Api", "DynamoDB", "Schedule", "SQS".
func (r Resource) events() []string {
	var types []string
	events, _ := r.Properties["Events"].(map[string]any)
	for _, e := range events {
		if event, ok := e.(map[string]any); ok {
			if t, _ := event["Type"].(string); !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
	}
	slices.Sort(types)
	return types
}

// mostFromQueues are the concurrencies up to which queues start a function, by the event.
func (r Resource) mostFromQueues() map[string]any {
	most := map[string]any{}
	events, _ := r.Properties["Events"].(map[string]any)
	for name, e := range events {
		event, _ := e.(map[string]any)
		properties, _ := event["Properties"].(map[string]any)
		if scaling, ok := properties["ScalingConfig"].(map[string]any); ok {
			most[name] = scaling["MaximumConcurrency"]
		}
	}
	return most
}

// timeout is a function's own time-out in seconds, 0 where it has the one of all.
func (r Resource) timeout() int {
	n, _ := r.Properties["Timeout"].(int)
	return n
}

// indexes are the names of a table's global secondary indexes.
func (r Resource) indexes() []string {
	var names []string
	list, _ := r.Properties["GlobalSecondaryIndexes"].([]any)
	for _, i := range list {
		if index, ok := i.(map[string]any); ok {
			name, _ := index["IndexName"].(string)
			names = append(names, name)
		}
	}
	return names
}

// folder is where a function's program is, "send-task" for CodeUri functions/send-task/.
func (r Resource) folder() string {
	uri, _ := r.Properties["CodeUri"].(string)
	return strings.TrimSuffix(strings.TrimPrefix(uri, "functions/"), "/")
}
