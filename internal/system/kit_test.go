package system

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"baton/client"
	"baton/internal/demo"
	"baton/internal/localaws"
	"baton/internal/localstack"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// The worker kit: what people copy from examples/ is deployed or run as it stands.

// start builds an example and runs it until the test ends; end asks it to end, and waits until it has.
func start(t *testing.T, example string, environment ...string) (end func()) {
	t.Helper()
	program := filepath.Join(t.TempDir(), example)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./examples/"+example)
	build.Dir = string(tree(t))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, kill := context.WithCancel(context.Background())
	var said strings.Builder
	run := exec.CommandContext(ctx, program)
	run.Env = append(os.Environ(), append(environment, "BATON_URL="+localaws.Stack(t).APIURL)...)
	run.Stderr = &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	t.Cleanup(kill)
	return func() {
		t.Helper()
		run.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s ended with %v\n%s", example, err, said.String())
			}
		case <-time.After(time.Minute):
			t.Errorf("%s does not end\n%s", example, said.String())
		}
	}
}

// answered sees that a task is completed with the number of its words, and by one answer.
func answered(t *testing.T, from demo.Agent, id string, words int) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	done, err := from.Client.Wait(ctx, id)
	if err != nil || done.State != client.Completed || done.Result != fmt.Sprintf("%d words", words) || len(done.Messages) != 2 {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestThePollingWorker(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	before := newTask(t, from, to, "sent before it runs")
	end := start(t, "polling-worker", "BATON_KEY="+to.Key)
	answered(t, from, before.ID, 4)
	answered(t, from, newTask(t, from, to, "and while it does so").ID, 5)
	end()
}

func TestTheWebhookWorker(t *testing.T) {
	t.Parallel()
	w := world(t)
	from, to := pair(t)
	port, err := localstack.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("127.0.0.1:%d", port)
	hook := subscribe(t, w.Bank, to, &receiver{url: "http://" + at}, client.EventCreated)
	end := start(t, "webhook-worker", "BATON_KEY="+to.Key, "WEBHOOK_SECRETS="+hook.Secret, "LISTEN="+at)
	await(t, "the worker", func() bool {
		answer, err := http.Post("http://"+at, "application/json", strings.NewReader("{}"))
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("unsigned: %s", answer.Status)
		}
		return true
	})
	sent := newTask(t, from, to, "three words here")
	answered(t, from, sent.ID, 3)
	d := delivery(t, w.Bank, hook, client.Delivered)
	if d.Attempts[0].StatusCode != http.StatusNoContent {
		t.Errorf("it answered %+v", d.Attempts)
	}
	// The same delivery once more, and it has nothing to do.
	if _, err := w.Bank.Admin.Redeliver(t.Context(), hook.ID, d.ID); err != nil {
		t.Fatal(err)
	}
	await(t, "the second time", func() bool { return len(deliveries(t, w.Bank, hook)[0].Attempts) == 2 })
	answered(t, from, sent.ID, 3)
	end()
}

// The worker in one's own account; on the local AWS there is only one.
func TestTheWorkerOfTheKit(t *testing.T) {
	t.Parallel()
	w := world(t)
	from, to := pair(t)
	stack, here := localaws.Stack(t), tree(t)
	server, err := stack.Server()
	if err != nil {
		t.Fatal(err)
	}
	key, err := secretsmanager.NewFromConfig(server.Config()).CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{
		Name: aws.String("key-of-" + to.Handle), SecretString: &to.Key,
	})
	if err != nil {
		t.Fatal(err)
	}
	functions, err := here.Build(t.Context(), here.Path(".local", "build", "kit"), "./examples/worker")
	if err != nil {
		t.Fatal(err)
	}
	_, err = here.Deploy(t.Context(), server, localstack.Application{
		Stack: "worker-" + to.Handle, Template: "examples/worker/template.yaml", Parameters: map[string]string{
			"OrganizationBusArn": w.Bank.EventBus.ARN, "IdentityId": to.ID, "BatonUrl": stack.APIURL, "AgentKeySecretArn": *key.ARN,
		},
	}, functions)
	if err != nil {
		t.Fatal(err)
	}
	answered(t, from, newTask(t, from, to, "how many are these").ID, 4)
}
