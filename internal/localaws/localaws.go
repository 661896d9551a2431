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
	"errors"
	"net/http"
	"os"
	"path/filepath"
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
	s, err := start()
	if err != nil {
		t.Fatalf("local AWS: %v", err)
	}
	return s.endpoint
}

// Stack is the application, deployed on the local AWS: by make test, whose stack file BATON_TEST_STACK names, or by this
// process, which builds it for that.
func Stack(t testing.TB) localstack.Stack {
	t.Helper()
	s, _, err := Deployed()
	if err != nil {
		t.Fatalf("the application on the local AWS: %v", err)
	}
	return s
}

// Deployed is Stack for what runs around the tests, with the folder of the stack's file: ministack.log is there, and
// calls.jsonl, what each role asked for.
func Deployed() (localstack.Stack, string, error) {
	if given := os.Getenv("BATON_TEST_STACK"); given != "" {
		s, err := localstack.ReadStack(given)
		return s, filepath.Dir(given), err
	}
	s, err := deployed()
	if err != nil {
		return s, "", err
	}
	server, err := start()
	return s, server.dir, err
}

var deployed = sync.OnceValues(func() (localstack.Stack, error) {
	tree, err := localstack.FindTree()
	if err != nil {
		return localstack.Stack{}, err
	}
	s, err := start()
	if err != nil {
		return localstack.Stack{}, err
	}
	if s.dir == "" {
		return localstack.Stack{}, errors.New("BATON_TEST_ENDPOINT is set and BATON_TEST_STACK is not")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return tree.UpOn(ctx, s.Server, s.dir)
})

type server struct {
	localstack.Server
	endpoint string
	dir      string // its scratch folder, "" for a server that was given
	// held is this process's end of the server's life line: a file that nobody refers to would be closed at some
	// moment, and the server leaves when it is.
	held *os.File
}

var start = sync.OnceValues(func() (server, error) {
	if given := os.Getenv("BATON_TEST_ENDPOINT"); given != "" {
		return server{endpoint: given}, nil
	}
	tree, err := localstack.FindTree()
	if err != nil {
		return server{}, err
	}
	dir, err := os.MkdirTemp("", "baton-test-")
	if err != nil {
		return server{}, err
	}
	lifeline, held, err := os.Pipe()
	if err != nil {
		return server{}, err
	}
	port, err := localstack.FreePort()
	if err != nil {
		return server{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	s, err := tree.Start(ctx, port, dir, lifeline)
	return server{s, s.Endpoint(), dir, held}, err
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
