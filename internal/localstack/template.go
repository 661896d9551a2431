package localstack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// notHere are properties that the local AWS does not know. Leaving them out is the only way in which the template that
// is deployed here differs from the one for AWS, apart from where the code is.
var notHere = map[string]bool{
	"ResponseTransferMode":   true, // answers come in one piece
	"RESPONSE_TRANSFER_MODE": true, // and the functions must know
}

// Render is a template of the tree as the local AWS takes it, with the code of each function at the place that uri tells.
func (t Tree) Render(name string, uri func(folder string) (string, error)) ([]byte, error) {
	text, err := os.ReadFile(t.Path(filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	var template yaml.Node
	if err := yaml.Unmarshal(text, &template); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := rewrite(&template, uri); err != nil {
		return nil, err
	}
	return yaml.Marshal(&template)
}

func rewrite(n *yaml.Node, uri func(folder string) (string, error)) error {
	if n.Kind == yaml.MappingNode {
		kept := n.Content[:0]
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, value := n.Content[i], n.Content[i+1]
			if notHere[name.Value] {
				continue
			}
			if name.Value == "CodeUri" {
				place, err := uri(strings.Trim(value.Value, "./"))
				if err != nil {
					return err
				}
				value.SetString(place)
			}
			kept = append(kept, name, value)
		}
		n.Content = kept
	}
	for _, child := range n.Content {
		if err := rewrite(child, uri); err != nil {
			return err
		}
	}
	return nil
}
