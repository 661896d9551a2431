// Package localaws gives tests a real local AWS: tables of the template's own schema, and SDK clients whose transport
// can fail on demand. Only tests import it.
//
// There is one server a test process, started at the first use and gone with the process. BATON_TEST_ENDPOINT names
// one that is already there instead, as make test does.
package localaws

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/internal/localstack"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Endpoint is the URL of the local AWS that this process's tests share. Everything in it is seen by all of them, so
// names must be unlike; Unique makes such.
func Endpoint(t testing.TB) string {
	t.Helper()
	endpoint, err := start()
	if err != nil {
		t.Fatalf("local AWS: %v", err)
	}
	return endpoint
}

// held is this process's end of the server's life line; a file that nobody refers to would be closed at some moment.
var held *os.File

var start = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("BATON_TEST_ENDPOINT"); given != "" {
		return given, nil
	}
	tree, err := localstack.FindTree()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "baton-test-")
	if err != nil {
		return "", err
	}
	// The server holds the other end, and leaves when this process is gone, however it ended.
	lifeline, hold, err := os.Pipe()
	if err != nil {
		return "", err
	}
	held = hold
	port, err := localstack.FreePort()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	server, err := tree.Start(ctx, port, dir, lifeline)
	return server.Endpoint(), err
})

// Unique is the given name with something random behind it.
func Unique(name string) string {
	var b [5]byte
	rand.Read(b[:])
	return name + "-" + hex.EncodeToString(b[:])
}

// Config is a configuration for SDK clients of the local AWS, as the account's root, and the faults of exactly the
// clients made from it. Retries are the SDK's own.
func Config(t testing.TB) (aws.Config, *Faults) {
	t.Helper()
	faults := NewFaults(http.DefaultTransport)
	return aws.Config{
		Region:       localstack.Region,
		BaseEndpoint: aws.String(Endpoint(t)),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{
				AccessKeyID:     localstack.AccessKeyID,
				SecretAccessKey: localstack.SecretAccessKey,
			}, nil
		}),
		HTTPClient: &http.Client{Transport: faults},
	}, faults
}

// tableName is a name for a fresh table of a resource, by which a log of the server can be read.
func tableName(resource string) string {
	return Unique(strings.ToLower(strings.TrimSuffix(resource, "Table")))
}
