// Package operatorkey is the template's custom resource OperatorKey: it makes the operator's key when the application is
// deployed, puts it into its secret, and its hash into the directory. Nothing at run time needs it.
package operatorkey

import (
	"context"
	"errors"
	"fmt"

	"baton/internal/directory"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
)

type secretsClient interface {
	GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error)
	PutSecretValue(context.Context, *secretsmanager.PutSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.PutSecretValueOutput, error)
}

// Handle returns the resource's handler. It keeps the key that is in the secret, and makes one where there is none that
// the directory's mint made: after a change of the stamp that is so. A change of the property Generation makes another,
// and revokes the one before. Deleting the resource changes nothing.
func Handle(keys *directory.Service, secrets secretsClient, secretARN string) cfn.CustomResourceFunction {
	return func(ctx context.Context, e cfn.Event) (physicalID string, data map[string]any, err error) {
		if e.RequestType == cfn.RequestDelete {
			return e.PhysicalResourceID, nil, nil
		}
		current, err := read(ctx, secrets, secretARN)
		if err != nil {
			return secretARN, nil, err
		}
		renew := e.RequestType == cfn.RequestUpdate && generation(e.OldResourceProperties) != generation(e.ResourceProperties)
		if !renew {
			if err := keys.KeepOperatorKey(ctx, current); !errors.Is(err, directory.ErrUnauthenticated) {
				return secretARN, nil, err
			}
		}
		secret, err := keys.CreateOperatorKey(ctx)
		if err != nil {
			return secretARN, nil, err
		}
		if _, err := secrets.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: &secretARN, SecretString: &secret}); err != nil {
			return secretARN, nil, fmt.Errorf("operatorkey: write secret: %w", err)
		}
		return secretARN, nil, keys.DropOperatorKey(ctx, current)
	}
}

// generation is the property, which CloudFormation hands over as text, whatever the template has.
func generation(properties map[string]any) string { return fmt.Sprint(properties["Generation"]) }

// read returns what is in the secret, empty when nothing is.
func read(ctx context.Context, secrets secretsClient, arn string) (string, error) {
	out, err := secrets.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &arn})
	var missing *types.ResourceNotFoundException // the secret is there, and has no value yet
	switch {
	case errors.As(err, &missing):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("operatorkey: read secret: %w", err)
	case out.SecretString == nil:
		return "", nil
	}
	return *out.SecretString, nil
}
