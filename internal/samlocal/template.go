package samlocal

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"baton/internal/localstack"

	"go.yaml.in/yaml/v3"
)

// lay writes the template as sam local takes it into dir, with each function's program in a folder there, and returns
// the template's path and the functions' folders by id.
func lay(ctx context.Context, tree localstack.Tree, dir string) (file string, folders map[string]string, err error) {
	built, err := tree.Build(ctx, filepath.Join(dir, "build"), "./functions/...")
	if err != nil {
		return "", nil, err
	}
	text, err := tree.Render("template.yaml", func(folder string) (string, error) {
		f, ok := built[folder]
		if !ok {
			return "", fmt.Errorf("template.yaml names %q, which holds no program", folder)
		}
		place := filepath.Join(dir, path.Base(folder))
		if err := os.MkdirAll(place, 0o755); err != nil {
			return "", err
		}
		program := filepath.Join(place, "bootstrap")
		os.Remove(program) // of an earlier run
		return place, os.Link(f.Binary, program)
	})
	if err != nil {
		return "", nil, err
	}
	var template yaml.Node
	if err := yaml.Unmarshal(text, &template); err != nil {
		return "", nil, err
	}
	// sam passes on only the variables that the template names.
	variables := at(template.Content[0], "Globals", "Function", "Environment", "Variables")
	if variables == nil {
		return "", nil, fmt.Errorf("template.yaml has no environment of all functions")
	}
	variables.Content = append(variables.Content, scalar("AWS_ENDPOINT_URL"), scalar("set by --env-vars"))
	folders = map[string]string{}
	resources := at(template.Content[0], "Resources")
	for i := 0; i+1 < len(resources.Content); i += 2 {
		if uri := at(resources.Content[i+1], "Properties", "CodeUri"); uri != nil {
			folders[resources.Content[i].Value] = path.Base(uri.Value)
		}
	}
	if text, err = yaml.Marshal(&template); err != nil {
		return "", nil, err
	}
	file = filepath.Join(dir, "template.yaml")
	return file, folders, os.WriteFile(file, text, 0o644)
}

// at is the value at the keys of nested mappings, nil where there is none.
func at(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		i := -1
		if n.Kind == yaml.MappingNode {
			for j := 0; j+1 < len(n.Content); j += 2 {
				if n.Content[j].Value == key {
					i = j + 1
				}
			}
		}
		if i < 0 {
			return nil
		}
		n = n.Content[i]
	}
	return n
}

func scalar(text string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(text)
	return n
}

// samples are the events of a function: <folder>.json, and <folder>-….json where no longer folder's name fits better.
func samples(tree localstack.Tree, folder string, folders map[string]string) ([]string, error) {
	all, err := filepath.Glob(tree.Path("events", folder+"*.json"))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(file string) bool {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		for _, other := range folders {
			if len(other) > len(folder) && (name == other || strings.HasPrefix(name, other+"-")) {
				return true
			}
		}
		return name != folder && !strings.HasPrefix(name, folder+"-")
	}), nil
}
