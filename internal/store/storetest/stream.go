package storetest

import (
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Stream is what the stream of a table tasks has of its inserts, as the template filters them, in the order of a scan: a
// relay must bear any. The sequence number of a record is its item's sort key, which only one task's records are told
// apart by.
func Stream(t testing.TB, db dynamodb.ScanAPIClient, table string) (records []events.DynamoDBEventRecord) {
	t.Helper()
	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			if _, change := item["e"]; !change {
				continue
			}
			image := map[string]events.DynamoDBAttributeValue{}
			for name, v := range item {
				switch v := v.(type) {
				case *types.AttributeValueMemberB:
					image[name] = events.NewBinaryAttribute(v.Value)
				case *types.AttributeValueMemberS:
					image[name] = events.NewStringAttribute(v.Value)
				default:
					t.Fatalf("attribute %s is a %T", name, v)
				}
			}
			records = append(records, events.DynamoDBEventRecord{EventName: "INSERT", Change: events.DynamoDBStreamRecord{
				Keys:     map[string]events.DynamoDBAttributeValue{"p": image["p"], "s": image["s"]},
				NewImage: image, SequenceNumber: image["s"].String(),
			}})
		}
	}
	return records
}
