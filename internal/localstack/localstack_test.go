package localstack

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestUpSaysWhoseThePortIs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	t.Setenv("BATON_PORT", port)
	_, err = Tree(t.TempDir()).Up(t.Context())
	if err == nil || !strings.Contains(err.Error(), port+" is taken") || !strings.Contains(err.Error(), "BATON_PORT=") {
		t.Errorf("got %v, want that port %s is taken, and how to choose another", err, port)
	}
}

func TestSetupSaysThatPythonIsTooOld(t *testing.T) {
	python := filepath.Join(t.TempDir(), "python3")
	if err := os.WriteFile(python, []byte("#!/bin/sh\necho 3.9.19 False\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHON", python)
	_, err := Tree(t.TempDir()).Setup(t.Context(), Ministack)
	if err == nil || !strings.Contains(err.Error(), "3.10 or newer") || !strings.Contains(err.Error(), "3.9.19") {
		t.Errorf("got %v, want which version is needed and which is there", err)
	}
}

func TestPortIsOneOrAnError(t *testing.T) {
	for text, want := range map[string]int{"": DefaultPort, "1": 1, "65535": 65535, "0": 0, "65536": 0, "http": 0} {
		t.Setenv("BATON_PORT", text)
		got, err := Port()
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("BATON_PORT=%q: got %d, %v", text, got, err)
		}
	}
}

func TestRenderLeavesOutWhatTheLocalAWSDoesNotKnow(t *testing.T) {
	tree := Tree(t.TempDir())
	const template = `
Resources:
  StreamEventsFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/stream-events/
      Events:
        Own: { Type: Api, Properties: { RestApiId: !Ref Api, Path: /v1/events/stream, ResponseTransferMode: RESPONSE_STREAM } }
`
	if err := os.WriteFile(tree.Path("template.yaml"), []byte(template), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := tree.Render("template.yaml", func(folder string) (string, error) { return "s3://code/" + folder + ".zip", nil })
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	if strings.Contains(text, "ResponseTransferMode") || !strings.Contains(text, "!Ref Api") ||
		!strings.Contains(text, "CodeUri: s3://code/functions/stream-events.zip") {
		t.Errorf("got\n%s", text)
	}
}
