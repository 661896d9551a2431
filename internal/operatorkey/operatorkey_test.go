package operatorkey_test

import (
	"errors"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/localaws"
	"baton/internal/operatorkey"
	"baton/internal/store"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

func TestDeploysMakeOneKey(t *testing.T) {
	config, faults := localaws.Config(t)
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	secrets := secretsmanager.NewFromConfig(config)
	made, err := secrets.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: aws.String(localaws.Unique("operator"))})
	if err != nil {
		t.Fatal(err)
	}
	table := localaws.NewTable(t, "DirectoryTable")
	stamp := "stamp"
	service := func() *directory.Service {
		return directory.NewService(store.NewDirectory(dynamodb.NewFromConfig(config), table), directory.Options{
			Mint: directory.NewMint(stamp), Remember: time.Minute, Now: time.Now,
		})
	}
	handle := operatorkey.Handle(service(), secrets, *made.ARN)
	deploy := func(kind cfn.RequestType, was, now any) error {
		_, _, err := handle(t.Context(), cfn.Event{
			RequestType:           kind,
			ResourceProperties:    map[string]any{"Generation": now},
			OldResourceProperties: map[string]any{"Generation": was},
		})
		return err
	}
	key := func() string {
		t.Helper()
		out, err := secrets.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: made.ARN})
		if err != nil {
			t.Fatal(err)
		}
		return *out.SecretString
	}
	good := func(secret string) bool {
		p, err := service().Authenticate(t.Context(), secret)
		if err != nil && !errors.Is(err, directory.ErrUnauthenticated) {
			t.Fatal(err)
		}
		return err == nil && p.Kind == directory.Operator
	}

	faults.On("PutSecretValue").Refuse()
	if err := deploy(cfn.RequestCreate, "", "1"); err == nil {
		t.Fatal("a deploy that could not store the key succeeded")
	}
	if err := deploy(cfn.RequestCreate, "", "1"); err != nil {
		t.Fatal(err)
	}
	first := key()
	if !good(first) {
		t.Fatal("the key is not good")
	}
	for _, kind := range []cfn.RequestType{cfn.RequestCreate, cfn.RequestUpdate, cfn.RequestDelete} {
		if err := deploy(kind, "1", "1"); err != nil || key() != first || !good(first) {
			t.Errorf("%s again: %v, same key %v, good %v", kind, err, key() == first, good(first))
		}
	}
	faults.On("GetSecretValue").Refuse() // perhaps it is deleted already
	if err := deploy(cfn.RequestDelete, "1", "1"); err != nil {
		t.Errorf("delete without the secret: %v", err)
	}
	faults.Reset()
	faults.On("PutSecretValue").Refuse()
	if err := deploy(cfn.RequestUpdate, "1", "2"); err == nil || key() != first || !good(first) {
		t.Errorf("a new generation that could not be stored: %v, same key %v, good %v", err, key() == first, good(first))
	}
	if err := deploy(cfn.RequestUpdate, 1, "1"); err != nil || key() != first {
		t.Errorf("the same generation, as a number: %v, same key %v", err, key() == first)
	}
	if err := deploy(cfn.RequestUpdate, "1", "2"); err != nil {
		t.Fatal(err)
	}
	if second := key(); second == first || !good(second) || good(first) {
		t.Errorf("after a new generation: another key %v, good %v, the first still good %v", second != first, good(second), good(first))
	}

	// A stack made anew beside a secret that was kept: the directory is empty.
	table = localaws.NewTable(t, "DirectoryTable")
	handle = operatorkey.Handle(service(), secrets, *made.ARN)
	second := key()
	if err := deploy(cfn.RequestCreate, "", "2"); err != nil || key() != second || !good(second) {
		t.Errorf("with an empty directory: %v, same key %v, good %v", err, key() == second, good(second))
	}

	// Another stamp: no key of before is one.
	stamp = "another stamp"
	handle = operatorkey.Handle(service(), secrets, *made.ARN)
	if err := deploy(cfn.RequestUpdate, "2", "2"); err != nil || key() == second || !good(key()) || good(second) {
		t.Errorf("with another stamp: %v, same key %v, good %v", err, key() == second, good(key()))
	}
	second = key()
	faults.On("GetItem").Throttle()
	if err := deploy(cfn.RequestUpdate, "2", "2"); err == nil || key() != second {
		t.Errorf("while storage throttles: %v, same key %v", err, key() == second)
	}
}
