package localaws

import (
	"context"
	"testing"

	"baton/internal/localstack"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Tables are the names of the application's tables.
type Tables struct {
	Tasks, Events, Directory string
}

// NewTables makes the application's tables, empty and with the keys, indexes, streams and time-to-live attributes of
// template.yaml, and deletes them when the test ends.
func NewTables(t testing.TB) Tables {
	t.Helper()
	return Tables{
		Tasks:     NewTable(t, "TasksTable"),
		Events:    NewTable(t, "EventsTable"),
		Directory: NewTable(t, "DirectoryTable"),
	}
}

// NewTable makes one table of template.yaml, by its resource name, and returns the table's name.
func NewTable(t testing.TB, resource string) string {
	t.Helper()
	tree, err := localstack.FindTree()
	if err != nil {
		t.Fatal(err)
	}
	declared, err := tree.Tables()
	if err != nil {
		t.Fatal(err)
	}
	table, ok := declared[resource]
	if !ok {
		t.Fatalf("template.yaml has no table %s", resource)
	}
	config, _ := Config(t)
	client := dynamodb.NewFromConfig(config)
	name := tableName(resource)
	if err := create(t.Context(), client, name, table); err != nil {
		t.Fatalf("create table %s: %v", name, err)
	}
	t.Cleanup(func() {
		client.DeleteTable(context.WithoutCancel(t.Context()), &dynamodb.DeleteTableInput{TableName: &name})
	})
	return name
}

func create(ctx context.Context, client *dynamodb.Client, name string, table localstack.Table) error {
	in := dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   keySchema(table.KeySchema),
	}
	for _, a := range table.Attributes {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(a.Name), AttributeType: types.ScalarAttributeType(a.Type),
		})
	}
	for _, index := range table.Indexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName:  aws.String(index.Name),
			KeySchema:  keySchema(index.KeySchema),
			Projection: &types.Projection{ProjectionType: types.ProjectionType(index.Projection.Type)},
		})
	}
	if table.Stream.View != "" {
		in.StreamSpecification = &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewType(table.Stream.View),
		}
	}
	if _, err := client.CreateTable(ctx, &in); err != nil {
		return err
	}
	if table.TTL.Attribute == "" {
		return nil
	}
	_, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: &table.TTL.Attribute, Enabled: aws.Bool(true),
		},
	})
	return err
}

func keySchema(elements []localstack.KeyElement) (schema []types.KeySchemaElement) {
	for _, e := range elements {
		schema = append(schema, types.KeySchemaElement{
			AttributeName: aws.String(e.Name), KeyType: types.KeyType(e.KeyType),
		})
	}
	return schema
}
