package samlocal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"baton/internal/localstack"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

// settings are the environments of the deployed functions, by their ids in the template: sam knows only what the
// template says, and not what its references became.
func settings(ctx context.Context, stack localstack.Stack) (map[string]map[string]string, error) {
	server, err := stack.Server()
	if err != nil {
		return nil, err
	}
	out, err := cloudformation.NewFromConfig(server.Config()).DescribeStackResources(ctx,
		&cloudformation.DescribeStackResourcesInput{StackName: &localstack.Baton.Stack})
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]string{}
	for _, r := range out.StackResources {
		if aws.ToString(r.ResourceType) != "AWS::Lambda::Function" {
			continue
		}
		variables, err := environment(ctx, stack, aws.ToString(r.PhysicalResourceId))
		if err != nil {
			return nil, err
		}
		all[aws.ToString(r.LogicalResourceId)] = variables
	}
	return all, nil
}

func environment(ctx context.Context, stack localstack.Stack, function string) (map[string]string, error) {
	url := stack.EndpointURL + "/2015-03-31/functions/" + function + "/configuration"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	key := aws.Credentials{AccessKeyID: stack.AccessKeyID, SecretAccessKey: stack.SecretAccessKey}
	if err := v4.NewSigner().SignHTTP(ctx, key, req, "UNSIGNED-PAYLOAD", "lambda", stack.Region, time.Now()); err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	var configuration struct {
		Environment struct{ Variables map[string]string }
	}
	if err := json.Unmarshal(text, &configuration); err != nil || res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("configuration of %s: %s, %v", function, res.Status, err)
	}
	return configuration.Environment.Variables, nil
}
