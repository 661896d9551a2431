package localstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
)

const stageName = "local"

// Application is a template and what is deployed of it.
type Application struct {
	Stack      string            // the stack's name
	Template   string            // the template's path in the tree; its CodeUris are relative to its folder
	Parameters map[string]string // Architecture is set by Deploy
}

// Baton is the application of template.yaml.
var Baton = Application{Stack: "baton", Template: "template.yaml", Parameters: map[string]string{
	"Stage":          stageName,
	"LocalReceivers": "127.0.0.1:0", // so that a webhook can be tried without a public address
}}

// Wrapped is the application as infra wraps it, without what the local AWS does not know.
var Wrapped = Application{
	Stack: "baton-wrapped", Template: "template.local.json", Parameters: map[string]string{"Stage": "wrapped"},
}

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

// Deploy brings an application's stack to its template and the built functions, and returns its outputs.
func (t Tree) Deploy(ctx context.Context, s Server, a Application, functions map[string]Function) (map[string]string, error) {
	if _, err := s.call(ctx, "s3", http.MethodPut, "/"+codeBucket, nil); err != nil {
		return nil, err
	}
	template, err := t.Render(a.Template, func(folder string) (string, error) {
		f, ok := functions[path.Join(path.Dir(a.Template), folder)]
		if !ok {
			return "", fmt.Errorf("%s names %q, which holds no program", a.Template, folder)
		}
		object, err := s.upload(ctx, f)
		return "s3://" + codeBucket + "/" + object, err
	})
	if err != nil {
		return nil, err
	}
	// From the bucket, since a template given in the call itself may have 51,200 bytes.
	object := codeBucket + "/" + a.Stack + ".yaml"
	if _, err := s.call(ctx, "s3", http.MethodPut, "/"+object, template); err != nil {
		return nil, err
	}
	return s.apply(ctx, a, s.Endpoint()+"/"+object)
}

// apply creates or updates the stack and waits until that is done.
func (s Server) apply(ctx context.Context, a Application, templateURL string) (map[string]string, error) {
	client := cloudformation.NewFromConfig(s.Config())
	architecture := "x86_64"
	if runtime.GOARCH == "arm64" {
		architecture = "arm64"
	}
	parameters := []types.Parameter{{ParameterKey: aws.String("Architecture"), ParameterValue: &architecture}}
	for name, value := range a.Parameters {
		parameters = append(parameters, types.Parameter{ParameterKey: &name, ParameterValue: &value})
	}
	capabilities := []types.Capability{types.CapabilityCapabilityIam, types.CapabilityCapabilityAutoExpand}

	stack, err := settle(ctx, client, a.Stack) // a deploy that was interrupted goes on by itself
	if err != nil {
		return nil, err
	}
	if stack != nil && !updatable(stack.StackStatus) { // a first deploy that failed leaves a stack that only can go
		if err := remove(ctx, client, a.Stack); err != nil {
			return nil, err
		}
		stack = nil
	}
	began := time.Now()
	if stack == nil {
		_, err = client.CreateStack(ctx, &cloudformation.CreateStackInput{
			StackName: &a.Stack, TemplateURL: &templateURL,
			Parameters: parameters, Capabilities: capabilities,
		})
	} else {
		_, err = client.UpdateStack(ctx, &cloudformation.UpdateStackInput{
			StackName: &a.Stack, TemplateURL: &templateURL,
			Parameters: parameters, Capabilities: capabilities,
		})
		if unchanged(err) {
			return outputs(stack), nil
		}
	}
	if err != nil {
		return nil, err
	}
	stack, err = settle(ctx, client, a.Stack)
	if err != nil {
		return nil, err
	}
	if stack == nil || !complete(stack.StackStatus) {
		return nil, failure(ctx, client, a.Stack, began)
	}
	return outputs(stack), nil
}

func describe(ctx context.Context, client *cloudformation.Client, stackName string) (*types.Stack, error) {
	out, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stackName})
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
func settle(ctx context.Context, client *cloudformation.Client, stackName string) (*types.Stack, error) {
	for {
		stack, err := describe(ctx, client, stackName)
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

func remove(ctx context.Context, client *cloudformation.Client, stackName string) error {
	_, err := client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &stackName})
	if err != nil {
		return err
	}
	_, err = settle(ctx, client, stackName)
	return err
}

// failure collects what CloudFormation says about the resources that failed.
func failure(ctx context.Context, client *cloudformation.Client, stackName string, since time.Time) error {
	out, err := client.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &stackName})
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
