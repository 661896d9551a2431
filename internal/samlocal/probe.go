package samlocal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"baton/internal/localstack"
)

const probeTemplate = `AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Resources:
  ProbeFunction:
    Type: AWS::Serverless::Function
    Properties: { Runtime: provided.al2023, Handler: bootstrap, CodeUri: ., Architectures: [%s] }
`

// Probe says what keeps this machine from running a function as sam does, nil where nothing does. The function is none of
// the application's, so that a mistake of those is not taken for one of the machine.
func Probe(ctx context.Context, tree localstack.Tree) (err error) {
	dir := tree.Path(".local", "sam", "probe")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	r := &run{tree: tree, dir: dir, stack: localstack.Stack{
		Region: localstack.Region, AccessKeyID: localstack.AccessKeyID, SecretAccessKey: localstack.SecretAccessKey,
		EndpointURL: "http://127.0.0.1:9", // nobody's
	}}
	if r.bin, err = tree.Setup(ctx, localstack.SAM); err != nil {
		return err
	}
	built, err := tree.Build(ctx, filepath.Join(dir, "build"), "./internal/samlocal/probe")
	if err != nil {
		return err
	}
	program, err := os.ReadFile(built["internal/samlocal/probe"].Binary)
	if err != nil {
		return err
	}
	r.template, r.settings = filepath.Join(dir, "template.yaml"), filepath.Join(dir, "settings.json")
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, "bootstrap"), program, 0o755),
		os.WriteFile(r.template, fmt.Appendf(nil, probeTemplate, architecture()), 0o644),
		os.WriteFile(r.settings, []byte("{}"), 0o600),
	)
	if err != nil {
		return err
	}
	if r.engine, err = FindEngine(ctx, r.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.engine.Close()) }()
	cmd := r.sam(ctx, "invoke", "ProbeFunction")
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err == nil && !bytes.Contains(out, []byte(`"here"`)) {
		err = errors.New("the function did not answer")
	}
	if err != nil {
		return fmt.Errorf("sam local invoke: %w\n%s%s", err, &log, out)
	}
	return nil
}
