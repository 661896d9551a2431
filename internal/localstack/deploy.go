package localstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
)

const (
	stackName = "baton"
	stageName = "local"
)

// Config is for SDK clients of the server, as the account's root.
func (s Server) Config() aws.Config {
	return aws.Config{
		Region:       Region,
		BaseEndpoint: aws.String(s.Endpoint()),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: AccessKeyID, SecretAccessKey: SecretAccessKey}, nil
		}),
	}
}

// Deploy brings the server's stack to template.yaml and the built functions, and returns its outputs.
func (t Tree) Deploy(ctx context.Context, s Server, functions map[string]Function) (map[string]string, error) {
	if _, err := s.s3(ctx, http.MethodPut, codeBucket, nil); err != nil {
		return nil, err
	}
	template, err := t.render(func(folder string) (string, error) {
		f, ok := functions[folder]
		if !ok {
			return "", fmt.Errorf("template.yaml names %s, which holds no program", folder)
		}
		return s.upload(ctx, f)
	})
	if err != nil {
		return nil, err
	}
	// From the bucket, since a template given in the call itself may have 51,200 bytes.
	if _, err := s.s3(ctx, http.MethodPut, codeBucket+"/template.yaml", template); err != nil {
		return nil, err
	}
	return s.apply(ctx, s.Endpoint()+"/"+codeBucket+"/template.yaml")
}

// apply creates or updates the stack and waits until that is done.
func (s Server) apply(ctx context.Context, templateURL string) (map[string]string, error) {
	client := cloudformation.NewFromConfig(s.Config())
	architecture := "x86_64"
	if runtime.GOARCH == "arm64" {
		architecture = "arm64"
	}
	parameters := []types.Parameter{
		{ParameterKey: aws.String("Stage"), ParameterValue: aws.String(stageName)},
		{ParameterKey: aws.String("Architecture"), ParameterValue: aws.String(architecture)},
	}
	capabilities := []types.Capability{types.CapabilityCapabilityIam, types.CapabilityCapabilityAutoExpand}

	stack, err := describe(ctx, client)
	if err != nil {
		return nil, err
	}
	if stack != nil && !updatable(stack.StackStatus) { // a first deploy that failed leaves a stack that only can go
		if err := remove(ctx, client); err != nil {
			return nil, err
		}
		stack = nil
	}
	began := time.Now()
	if stack == nil {
		_, err = client.CreateStack(ctx, &cloudformation.CreateStackInput{
			StackName: aws.String(stackName), TemplateURL: &templateURL,
			Parameters: parameters, Capabilities: capabilities,
		})
	} else {
		_, err = client.UpdateStack(ctx, &cloudformation.UpdateStackInput{
			StackName: aws.String(stackName), TemplateURL: &templateURL,
			Parameters: parameters, Capabilities: capabilities,
		})
		if unchanged(err) {
			return outputs(stack), nil
		}
	}
	if err != nil {
		return nil, err
	}
	stack, err = settle(ctx, client)
	if err != nil {
		return nil, err
	}
	if stack == nil || !complete(stack.StackStatus) {
		return nil, failure(ctx, client, began)
	}
	return outputs(stack), nil
}

func describe(ctx context.Context, client *cloudformation.Client) (*types.Stack, error) {
	out, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(stackName)})
	var missing smithy.APIError
	if errors.As(err, &missing) && missing.ErrorCode() == "ValidationError" {
		return nil, nil // CloudFormation's way to say that there is no such stack
	}
	if err != nil || len(out.Stacks) == 0 {
		return nil, err
	}
	return &out.Stacks[0], nil
}

// settle waits until nothing is in progress; nil when the stack is gone.
func settle(ctx context.Context, client *cloudformation.Client) (*types.Stack, error) {
	for {
		stack, err := describe(ctx, client)
		if err != nil || stack == nil || !strings.HasSuffix(string(stack.StackStatus), "_IN_PROGRESS") {
			return stack, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func remove(ctx context.Context, client *cloudformation.Client) error {
	_, err := client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: aws.String(stackName)})
	if err != nil {
		return err
	}
	_, err = settle(ctx, client)
	return err
}

// failure collects what CloudFormation says about the resources that failed.
func failure(ctx context.Context, client *cloudformation.Client, since time.Time) error {
	out, err := client.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: aws.String(stackName)})
	if err != nil {
		return err
	}
	text := "the deploy failed:"
	for _, e := range slices.Backward(out.StackEvents) {
		if e.Timestamp.Before(since.Add(-time.Second)) || !strings.HasSuffix(string(e.ResourceStatus), "_FAILED") {
			continue
		}
		text += fmt.Sprintf("\n  %s: %s", aws.ToString(e.LogicalResourceId), aws.ToString(e.ResourceStatusReason))
	}
	return errors.New(text)
}

func complete(status types.StackStatus) bool {
	return status == types.StackStatusCreateComplete || status == types.StackStatusUpdateComplete
}

func updatable(status types.StackStatus) bool {
	return complete(status) || status == types.StackStatusUpdateRollbackComplete
}

func unchanged(err error) bool {
	var e smithy.APIError
	return errors.As(err, &e) && strings.Contains(e.ErrorMessage(), "No updates are to be performed")
}

func outputs(stack *types.Stack) map[string]string {
	return maps.Collect(func(yield func(string, string) bool) {
		for _, o := range stack.Outputs {
			if !yield(aws.ToString(o.OutputKey), aws.ToString(o.OutputValue)) {
				return
			}
		}
	})
}
