package localstack

import (
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

// Table is a DynamoDB table as the template declares it.
type Table struct {
	Attributes []Attribute  `yaml:"AttributeDefinitions"`
	KeySchema  []KeyElement `yaml:"KeySchema"`
	Indexes    []Index      `yaml:"GlobalSecondaryIndexes"`
	Stream     struct {
		View string `yaml:"StreamViewType"`
	} `yaml:"StreamSpecification"`
	TTL struct {
		Attribute string `yaml:"AttributeName"`
	} `yaml:"TimeToLiveSpecification"`
}

// Attribute is an attribute of a key; Type is S, N or B.
type Attribute struct {
	Name string `yaml:"AttributeName"`
	Type string `yaml:"AttributeType"`
}

// KeyElement is an attribute of a key; KeyType is HASH or RANGE.
type KeyElement struct {
	Name    string `yaml:"AttributeName"`
	KeyType string `yaml:"KeyType"`
}

// Index is a global secondary index.
type Index struct {
	Name       string       `yaml:"IndexName"`
	KeySchema  []KeyElement `yaml:"KeySchema"`
	Projection struct {
		Type string `yaml:"ProjectionType"`
	} `yaml:"Projection"`
}

// Tables reads the tables of template.yaml, by their resource names.
func (t Tree) Tables() (map[string]Table, error) {
	text, err := os.ReadFile(t.Path("template.yaml"))
	if err != nil {
		return nil, err
	}
	var template struct {
		Resources map[string]struct {
			Type       string    `yaml:"Type"`
			Properties yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &template); err != nil {
		return nil, fmt.Errorf("template.yaml: %w", err)
	}
	tables := map[string]Table{}
	for name, resource := range template.Resources {
		if resource.Type != "AWS::DynamoDB::Table" {
			continue
		}
		var table Table
		if err := resource.Properties.Decode(&table); err != nil {
			return nil, fmt.Errorf("template.yaml: %s: %w", name, err)
		}
		tables[name] = table
	}
	return tables, nil
}
