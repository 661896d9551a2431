package lambdaenv_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"baton/internal/assemble"
	"baton/internal/lambdaenv"
	"baton/internal/metrics"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
)

// A call that the role does not allow is measured, and its line names what was asked of which service; any other failure,
// and a success, are not.
func TestDeniedCallsAreNoted(t *testing.T) {
	answer := ""
	aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if answer != "" {
			w.WriteHeader(http.StatusBadRequest)
			w.Write([]byte(`{"__type":"` + answer + `","message":"not authorized to perform this on arn:aws:x"}`))
			return
		}
		w.Write([]byte(`{}`))
	}))
	defer aws.Close()
	for name, value := range map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_ENDPOINT_URL": aws.URL,
	} {
		t.Setenv(name, value)
	}
	var log bytes.Buffer
	metrics.SetOutput(&log)
	defer metrics.SetOutput(t.Output())
	table, key := "t", map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: "k"}}
	for service, call := range map[string]func() error{
		"DynamoDB GetItem": func() error {
			_, err := assemble.Database().GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: key})
			return err
		},
		"EventBridge DescribeEventBus": func() error {
			_, err := eventbridge.NewFromConfig(lambdaenv.AWS()).DescribeEventBus(t.Context(), &eventbridge.DescribeEventBusInput{Name: &table})
			return err
		},
	} {
		for _, answer = range []string{"", "ResourceNotFoundException"} {
			if err := call(); (err == nil) != (answer == "") || log.Len() > 0 {
				t.Fatalf("%s, %q: %v, %s", service, answer, err, log.String())
			}
		}
		answer = "AccessDeniedException"
		if err := call(); err == nil {
			t.Fatal("not refused")
		}
		var line struct {
			Level, Service, Operation, Cause string
			DeniedCalls                      int
		}
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatal(err, log.String())
		}
		if line.Level != "ERROR" || line.Service+" "+line.Operation != service || line.DeniedCalls != 1 || !strings.Contains(line.Cause, "arn:aws:x") {
			t.Errorf("%+v", line)
		}
		log.Reset()
	}
}
