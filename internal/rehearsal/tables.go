package rehearsal

import (
	"context"
	"fmt"
	"time"

	"baton/internal/store/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// tables are the template's, by their ids there, which are its outputs too.
var tables = []string{"TasksTable", "EventsTable", "DirectoryTable"}

// backups makes an on-demand backup of each table, and returns their ARNs by table.
func backups(ctx context.Context, db *dynamodb.Client, names map[string]string) (map[string]string, error) {
	made := map[string]string{}
	for _, id := range tables {
		out, err := db.CreateBackup(ctx, &dynamodb.CreateBackupInput{TableName: aws.String(names[id]), BackupName: aws.String("rehearsal-" + id)})
		if err != nil {
			return nil, fmt.Errorf("back %s up: %w", id, err)
		}
		made[id] = aws.ToString(out.BackupDetails.BackupArn)
	}
	return made, nil
}

// lose deletes the tables.
func lose(ctx context.Context, db *dynamodb.Client, names map[string]string) error {
	for _, id := range tables {
		if _, err := db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(names[id])}); err != nil {
			return fmt.Errorf("delete %s: %w", id, err)
		}
	}
	return nil
}

// restore makes a new table of each backup, and switches on the time to live, which a backup does not hold.
func restore(ctx context.Context, db *dynamodb.Client, from map[string]string) (map[string]string, error) {
	names := map[string]string{}
	for _, id := range tables {
		name := "restored-" + id
		names[id] = name
		_, err := db.RestoreTableFromBackup(ctx, &dynamodb.RestoreTableFromBackupInput{
			BackupArn: aws.String(from[id]), TargetTableName: &name,
		})
		if err == nil {
			err = dynamodb.NewTableExistsWaiter(db).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, time.Minute)
		}
		if err != nil {
			return nil, fmt.Errorf("restore %s: %w", id, err)
		}
	}
	for _, id := range []string{"EventsTable", "DirectoryTable"} {
		_, err := db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName: aws.String(names[id]), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("x"), Enabled: aws.Bool(true)},
		})
		if err != nil {
			return nil, fmt.Errorf("switch on the time to live of %s: %w", id, err)
		}
	}
	return names, nil
}

// startStream switches on the stream of the tasks, which a backup does not hold either, and returns its ARN.
func startStream(ctx context.Context, db *dynamodb.Client, table string) (arn string, err error) {
	_, err = db.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName:           &table,
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage},
	})
	if err != nil {
		return "", fmt.Errorf("switch on the stream: %w", err)
	}
	out, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.Table.LatestStreamArn), nil
}

// each goes through the items of a table.
func each(ctx context.Context, db *dynamodb.Client, table string, do func(map[string]types.AttributeValue) error) error {
	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			if err := do(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// versions counts the items by the version of the layout that they say. In the first one most said none.
func versions(ctx context.Context, db *dynamodb.Client, names map[string]string) (map[int]int, error) {
	count := map[int]int{}
	for _, id := range tables {
		err := each(ctx, db, names[id], func(item map[string]types.AttributeValue) error {
			count[max(1, storetest.Version(item))]++
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return count, nil
}

// age turns every item into what the version before would have written.
func age(ctx context.Context, db *dynamodb.Client, names map[string]string) (n int, err error) {
	for _, id := range tables {
		err := each(ctx, db, names[id], func(item map[string]types.AttributeValue) error {
			storetest.Earlier(item)
			n++
			_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(names[id]), Item: item})
			return err
		})
		if err != nil {
			return n, fmt.Errorf("age %s: %w", id, err)
		}
	}
	return n, nil
}
