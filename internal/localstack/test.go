package localstack

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// Test runs a command against Baton, or its wrapped form, deployed for it alone, on a free port, and gone afterwards.
// BATON_TEST_STACK names its stack file, BATON_TEST_ENDPOINT its local AWS.
func (t Tree) Test(ctx context.Context, a Application, name string, arg ...string) error {
	dir, err := os.MkdirTemp("", "baton-test-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := t.Setup(ctx, Ministack); err != nil {
		return err
	}
	port, err := FreePort()
	if err != nil {
		return err
	}
	lifeline, held, err := os.Pipe()
	if err != nil {
		return err
	}
	defer held.Close()
	server, err := t.Start(ctx, port, dir, lifeline)
	if err != nil {
		return err
	}
	defer server.Stop()
	if _, err := t.DeployOn(ctx, server, dir, a); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, name, arg...)
	cmd.Dir = string(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(),
		"BATON_TEST_STACK="+filepath.Join(dir, "stack.json"),
		"BATON_TEST_ENDPOINT="+server.Endpoint())
	err = cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return testFailed{failed}
	}
	return err
}
