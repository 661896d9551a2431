package rehearsal

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"baton/internal/localstack"

	"go.yaml.in/yaml/v3"
)

// attached writes template.yaml with its tables as parameters of the same names, and the stream of the tasks as TasksStream,
// and returns its name. On AWS the restored tables are imported into the stack in place of the lost ones; the local AWS has
// no import, and what the functions get is the same.
func attached(tree localstack.Tree) (name string, err error) {
	name = "template.restored.yaml"
	text, err := os.ReadFile(tree.Path("template.yaml"))
	if err != nil {
		return "", err
	}
	var template yaml.Node
	if err := yaml.Unmarshal(text, &template); err != nil {
		return "", err
	}
	top := template.Content[0]
	resources, parameters := value(top, "Resources"), value(top, "Parameters")
	if resources == nil || parameters == nil {
		return "", fmt.Errorf("template.yaml has no resources or no parameters")
	}
	for _, id := range append(slices.Clone(tables), "TasksStream") {
		var parameter yaml.Node
		if err := yaml.Unmarshal([]byte("{ Type: String }"), &parameter); err != nil {
			return "", err
		}
		parameters.Content = append(parameters.Content, scalar(id), parameter.Content[0])
	}
	for i := 0; i < len(resources.Content); {
		if slices.Contains(tables, resources.Content[i].Value) {
			resources.Content = slices.Delete(resources.Content, i, i+2)
		} else {
			i += 2
		}
	}
	point(top)
	if text, err = yaml.Marshal(&template); err != nil {
		return "", err
	}
	return name, os.WriteFile(tree.Path(name), text, 0o644)
}

// point makes the attributes of the tables' resources what the parameters say.
func point(n *yaml.Node) {
	for _, id := range tables {
		arn := "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${" + id + "}"
		switch {
		case n.Tag == "!GetAtt" && n.Value == id+".Arn":
			n.Tag, n.Value, n.Style = "!Sub", arn, yaml.DoubleQuotedStyle
		case n.Tag == "!GetAtt" && n.Value == id+".StreamArn":
			n.Tag, n.Value = "!Ref", "TasksStream"
		case n.Kind == yaml.ScalarNode:
			n.Value = strings.ReplaceAll(n.Value, "${"+id+".Arn}", arn)
		}
	}
	for _, child := range n.Content {
		point(child)
	}
}

// value is the value of a mapping's key.
func value(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func scalar(text string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(text)
	return n
}
