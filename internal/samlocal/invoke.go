package samlocal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"baton/client"
)

// A sample's keys and names are nobody's. These stand in it for those of a world that is there.
var (
	agentKey    = regexp.MustCompile(`btk_agent_\w+`)
	orgKey      = regexp.MustCompile(`btk_org_\w+`)
	operatorKey = regexp.MustCompile(`btk_operator_\w+`)
	handle      = regexp.MustCompile(`\brefund-agent\b`)
	receiver    = regexp.MustCompile(`https://hooks\.example\.com`)
	nowhere     = regexp.MustCompile(`http://127\.0\.0\.1:9/\w*`)
	pathID      = regexp.MustCompile(`("pathParameters":\s*\{\s*"id":\s*")[^"]*"`)
)

// byWorker are the functions that a task's worker calls.
var byWorker = map[string]bool{"claim-task": true, "reply-task": true, "set-task-state": true}

// fill makes a sample speak of the world: of its keys, and of a task that was just sent.
func (r *run) fill(ctx context.Context, folder string, sample []byte) ([]byte, error) {
	t, err := r.world.Sender.Client.Send(ctx, client.Send{To: "@" + r.world.Worker.Handle, Draft: client.Draft{Parts: []client.Part{{Text: "A sample."}}}})
	if err != nil {
		return nil, err
	}
	caller := r.world.Sender.Key
	if byWorker[folder] {
		caller = r.world.Worker.Key
	}
	id := t.ID
	switch {
	case strings.HasSuffix(folder, "-context"):
		id = t.ContextID
	case strings.HasSuffix(folder, "-organization"), strings.HasPrefix(folder, "replay-"):
		id = r.world.Bank.ID
	}
	text := agentKey.ReplaceAllString(string(sample), caller)
	text = orgKey.ReplaceAllString(text, r.world.Bank.Key.Secret)
	text = operatorKey.ReplaceAllString(text, r.stack.OperatorKey)
	name := r.world.Worker.Handle
	if folder == "manage-identities" {
		name += "-too" // a new one
	}
	text = handle.ReplaceAllString(text, name)
	text = nowhere.ReplaceAllString(text, r.sink)
	text = receiver.ReplaceAllString(text, "http://127.0.0.1:8443") // the name leads nowhere, and this machine may be named here
	return []byte(pathID.ReplaceAllString(text, "${1}"+id+`"`)), nil
}

// invoke runs a function on an event in a container, and says what came of it.
func (r *run) invoke(ctx context.Context, function, folder, file string) (string, error) {
	sample, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	event, err := r.fill(ctx, folder, sample)
	if err != nil {
		return "", err
	}
	filled := filepath.Join(r.dir, "event-"+filepath.Base(file))
	if err := os.WriteFile(filled, event, 0o600); err != nil {
		return "", err
	}
	defer os.Remove(filled) // it has keys
	cmd := r.sam(ctx, "invoke", function, "--event", filled)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("sam local invoke: %w\n%s", err, &log)
	}
	said, err := judge(out, folder, bytes.Contains(sample, []byte(`"httpMethod"`)))
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, &log)
	}
	return said, nil
}

// judge says what a function answered, or why that is not right: a request does what it asks for, which is to be refused
// only where no route is asked for, and nothing else ends in an error.
func judge(out []byte, folder string, request bool) (string, error) {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	last := lines[len(lines)-1]
	var answer struct {
		StatusCode   int
		ErrorMessage string
		ErrorType    string
	}
	json.Unmarshal(last, &answer) // not every answer is an object
	right := answer.StatusCode >= 200 && answer.StatusCode < 300
	if folder == "refuse-route" {
		right = answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusMethodNotAllowed
	}
	switch {
	case answer.ErrorType != "" || answer.ErrorMessage != "":
		return "", fmt.Errorf("the function failed: %s", last)
	case request && !right:
		return "", fmt.Errorf("the answer is %s", last)
	case request:
		return fmt.Sprint(answer.StatusCode), nil
	}
	return "done", nil
}

// listen takes what a function of the deploy reports to CloudFormation.
func listen(gateway string) (net.Listener, string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(gateway, "0"))
	if err != nil {
		return nil, "", err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	return l, "http://" + l.Addr().String() + "/", nil
}

// sam is a call of sam local.
func (r *run) sam(ctx context.Context, command string, arg ...string) *exec.Cmd {
	all := append([]string{"local", command}, arg...)
	all = append(all, "--template", r.template, "--env-vars", r.settings, "--region", r.stack.Region,
		"--parameter-overrides", "Architecture="+architecture())
	if r.engine.skipPull {
		all = append(all, "--skip-pull-image")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(r.bin, "sam"), all...)
	cmd.Env = append(os.Environ(), "DOCKER_HOST="+r.engine.Host, "SAM_CLI_TELEMETRY=0",
		"AWS_ENDPOINT_URL_STS="+r.stack.EndpointURL, // sam asks whose account it is, and waits 9 s where nobody answers
		"AWS_ACCESS_KEY_ID="+r.stack.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+r.stack.SecretAccessKey)
	return cmd
}
