package localstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// DefaultPort is where the local AWS listens when BATON_PORT doesn't name another port.
const DefaultPort = 4577

// Stack says where a deployed application is: the contents of .local/stack.json, contract section 8.
type Stack struct {
	APIURL          string            `json:"api_url"`
	EndpointURL     string            `json:"endpoint_url"`
	Region          string            `json:"region"`
	AccessKeyID     string            `json:"access_key_id"`
	SecretAccessKey string            `json:"secret_access_key"`
	OperatorKey     string            `json:"operator_key"`
	Outputs         map[string]string `json:"outputs"`
}

// ReadStack reads a stack file.
func ReadStack(path string) (Stack, error) {
	var s Stack
	text, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Server is the local AWS that the stack is on. It can't be stopped through this.
func (s Stack) Server() (Server, error) {
	u, err := url.Parse(s.EndpointURL)
	if err != nil {
		return Server{}, err
	}
	port, err := strconv.Atoi(u.Port())
	return Server{Port: port}, err
}

// Port is the port that the environment asks for.
func Port() (int, error) {
	text := os.Getenv("BATON_PORT")
	if text == "" {
		return DefaultPort, nil
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("BATON_PORT is %q and should be a port, 1 to 65535", text)
	}
	return port, nil
}

// Up brings up the local AWS and the newest state of the application on it, and writes .local/stack.json. What is there
// already stays, data included.
func (t Tree) Up(ctx context.Context) (Stack, error) {
	server, err := t.serve(ctx)
	if err != nil {
		return Stack{}, err
	}
	return t.UpOn(ctx, server, t.Path(".local"))
}

// UpWrapped is Up for the application as infra wraps it for an environment. It is a stack of its own beside the other,
// and its stack file is .local/wrapped/stack.json.
func (t Tree) UpWrapped(ctx context.Context) (Stack, error) {
	server, err := t.serve(ctx)
	if err != nil {
		return Stack{}, err
	}
	return t.DeployOn(ctx, server, t.Path(".local", "wrapped"), Wrapped)
}

// serve is the local AWS that Up uses, started if it doesn't run.
func (t Tree) serve(ctx context.Context) (Server, error) {
	port, err := Port()
	if err != nil {
		return Server{}, err
	}
	dir := t.Path(".local")
	server, running := t.running()
	if running && server.Port != port {
		server.Stop()
		running = false
	}
	if !running {
		if Listening(port) {
			return Server{}, fmt.Errorf("port %d is taken by a program that make up did not start here; "+
				"end it, or choose another port: BATON_PORT=%d make up", port, port+1)
		}
		if _, err := t.Setup(ctx, Ministack); err != nil {
			return Server{}, err
		}
		err := Step(ctx, fmt.Sprintf("start the local AWS on port %d", port), func() (err error) {
			server, err = t.Start(ctx, port, dir, nil)
			return err
		})
		if err != nil {
			return Server{}, err
		}
		if err := writeJSON(filepath.Join(dir, "server.json"), server); err != nil {
			return Server{}, err
		}
	}
	return server, nil
}

// UpOn builds and deploys the application on a running server, and writes dir/stack.json. One deploy at a time is made
// of a checkout, since they share what is built.
func (t Tree) UpOn(ctx context.Context, server Server, dir string) (Stack, error) {
	return t.DeployOn(ctx, server, dir, Baton)
}

// DeployOn is UpOn for another form of the application.
func (t Tree) DeployOn(ctx context.Context, server Server, dir string, a Application) (Stack, error) {
	if err := errors.Join(os.MkdirAll(t.Path(".local"), 0o755), os.MkdirAll(dir, 0o755)); err != nil {
		return Stack{}, err
	}
	unlock, err := lock(ctx, t.Path(".local", "deploy.lock"))
	if err != nil {
		return Stack{}, err
	}
	defer unlock()
	var functions map[string]Function
	err = Step(ctx, "build the functions", func() (err error) {
		functions, err = t.Build(ctx, t.Path(".local", "build"), "./functions/...")
		return err
	})
	if err != nil {
		return Stack{}, err
	}
	stack := Stack{
		EndpointURL: server.Endpoint(), Region: Region,
		AccessKeyID: AccessKeyID, SecretAccessKey: SecretAccessKey,
	}
	err = Step(ctx, "deploy "+a.Template, func() (err error) {
		if stack.Outputs, err = t.Deploy(ctx, server, a, functions); err != nil {
			return err
		}
		if err := t.setGatewayResponses(ctx, server, stack.Outputs["ApiId"], stack.Outputs["Stage"]); err != nil {
			return err
		}
		stack.OperatorKey, err = secret(ctx, server, stack.Outputs["OperatorKeySecretArn"])
		return err
	})
	if err != nil {
		return Stack{}, err
	}
	stack.APIURL = server.Endpoint() + "/_aws/execute-api/" + stack.Outputs["ApiId"] + "/" + stack.Outputs["Stage"]
	return stack, writeJSON(filepath.Join(dir, "stack.json"), stack)
}

// Down stops what Up started, and forgets its data.
func (t Tree) Down() error {
	if server, running := t.running(); running {
		server.Stop()
	}
	for _, name := range []string{"server.json", "stack.json", "wrapped", "tmp"} {
		if err := os.RemoveAll(t.Path(".local", name)); err != nil {
			return err
		}
	}
	return nil
}

// running is the server that an earlier Up started, if it still runs.
func (t Tree) running() (Server, bool) {
	var server Server
	text, err := os.ReadFile(t.Path(".local", "server.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return Server{}, false
	}
	if err != nil || json.Unmarshal(text, &server) != nil {
		return Server{}, false
	}
	// The number may be another program's by now: after a restart of the machine, say.
	return server, server.Alive() && server.healthy(context.Background())
}

func secret(ctx context.Context, server Server, arn string) (string, error) {
	out, err := secretsmanager.NewFromConfig(server.Config()).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{
		SecretId: &arn,
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.SecretString), nil
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}
