package store

import (
	"context"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// ChangesBetween finds the changes that were made in a span of time, both ends included, those of one task in their
// order. It reads the whole table, which is paid for: it is for the day on which the stream was not read in time.
func ChangesBetween(ctx context.Context, db dynamodb.ScanAPIClient, table string, from, to time.Time, yield func(id task.ID, number int) error) error {
	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{
		TableName: &table, FilterExpression: aws.String("attribute_exists(" + attrChange + ")"),
		ProjectionExpression: aws.String(attrPartition + ", " + attrSort + ", " + attrChange),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return sdkError(err, "look for changes from %s to %s", from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))
		}
		for _, item := range page.Items {
			c, err := parseChangeHead(item)
			if err != nil {
				return err
			}
			if c.At.Before(from) || c.At.After(to) {
				continue
			}
			if err := yield(c.Task, c.Number); err != nil {
				return err
			}
		}
	}
	return nil
}
