package localaws_test

import (
	"errors"
	"net/http"
	"testing"

	"baton/internal/localaws"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func item(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"p": &types.AttributeValueMemberS{Value: key}, "s": &types.AttributeValueMemberS{Value: "s"},
	}
}

func TestFaults(t *testing.T) {
	table := localaws.NewTables(t).Directory
	config, faults := localaws.Config(t)
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	client := dynamodb.NewFromConfig(config)
	put := func(key string) error {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item(key)})
		return err
	}
	there := func(key string) bool {
		t.Helper()
		out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
			TableName: &table, Key: item(key), ConsistentRead: aws.Bool(true),
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.Item != nil
	}

	t.Run("a refused request never arrives", func(t *testing.T) {
		faults.Reset()
		faults.On("PutItem").Refuse()
		if err := put("refused"); !errors.Is(err, localaws.ErrFault) {
			t.Errorf("got %v, want the fault", err)
		}
		if there("refused") {
			t.Error("the item was written")
		}
	})
	t.Run("a lost answer leaves the write done", func(t *testing.T) {
		faults.Reset()
		faults.On("PutItem").Lose()
		if err := put("lost"); !errors.Is(err, localaws.ErrFault) {
			t.Errorf("got %v, want the fault", err)
		}
		if !there("lost") {
			t.Error("the item was not written")
		}
	})
	t.Run("a throttle is the SDK's own error", func(t *testing.T) {
		faults.Reset()
		faults.On("PutItem").Throttle()
		var throttled *types.ProvisionedThroughputExceededException
		if err := put("throttled"); !errors.As(err, &throttled) {
			t.Errorf("got %v, want a throttle", err)
		}
	})
	t.Run("a fault hits only what it names", func(t *testing.T) {
		faults.Reset()
		faults.On("PutItem").Containing("third").After(1).Times(2).Refuse()
		for i, want := range []error{nil, localaws.ErrFault, localaws.ErrFault, nil} {
			put("other")
			if err := put("third"); !errors.Is(err, want) {
				t.Errorf("put %d: got %v, want %v", i+1, err, want)
			}
		}
	})
	t.Run("an answer is rewritten", func(t *testing.T) {
		faults.Reset()
		faults.On("GetItem").Rewrite(func([]byte) []byte { return []byte(`{}`) })
		if there("lost") {
			t.Error("the answer came through as it was")
		}
	})
	t.Run("units are counted", func(t *testing.T) {
		faults.Reset()
		put("counted")
		there("counted")
		if read, write := faults.Units(); read != 1 || write != 1 {
			t.Errorf("got %v read and %v write units, want 1 and 1", read, write)
		}
	})
}

func TestStack(t *testing.T) {
	res, err := http.Get(localaws.Stack(t).APIURL + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusNotFound || got != "application/problem+json" {
		t.Errorf("a route that nobody serves: got %d %s, want the gateway's 404 problem", res.StatusCode, got)
	}
}
