// Package lambdaenv is what a function finds in its environment: its configuration, and the region and credentials that
// Lambda guarantees. Only functions import it, and only to start.
package lambdaenv

import (
	"context"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/middleware"
)

// Var is a variable of the environment. A function without it does not start.
func Var(name string) string {
	v := os.Getenv(name)
	if v == "" {
		log.Fatalf("the environment has no %s", name)
	}
	return v
}

// Int is a variable that is a whole number.
func Int(name string) int {
	n, err := strconv.Atoi(Var(name))
	if err != nil {
		log.Fatalf("the environment's %s is no whole number: %v", name, err)
	}
	return n
}

// IntOr is a variable that is a whole number, or the other number where there is none.
func IntOr(name string, otherwise int) int {
	if os.Getenv(name) == "" {
		return otherwise
	}
	return Int(name)
}

// callTimeout is the most that one try of an SDK call takes; a try that is slower than this is dead, and three of them
// still fit into the gateway's 29 s.
const callTimeout = 5 * time.Second

// AWS is the configuration for SDK clients. Their calls that AWS denies are logged and measured.
//
// It is filled by hand, since config.LoadDefaultConfig costs 7 ms and 2 MB at each cold start to look for what Lambda
// always gives in these variables. The endpoint is set only where AWS is a local one.
func AWS() aws.Config {
	c := aws.Config{
		Region: Var("AWS_REGION"),
		Credentials: fromEnvironment(aws.Credentials{
			AccessKeyID:     Var("AWS_ACCESS_KEY_ID"),
			SecretAccessKey: Var("AWS_SECRET_ACCESS_KEY"),
			SessionToken:    os.Getenv("AWS_SESSION_TOKEN"),
			Source:          "Lambda",
		}),
		HTTPClient: awshttp.NewBuildableClient().WithTimeout(callTimeout),
		APIOptions: []func(*middleware.Stack) error{noteDenied},
	}
	if endpoint := os.Getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		c.BaseEndpoint = &endpoint
	}
	return c
}

func fromEnvironment(c aws.Credentials) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return c, nil })
}
