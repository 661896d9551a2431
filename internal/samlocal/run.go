package samlocal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"baton/client"
	"baton/internal/demo"
	"baton/internal/localstack"
)

// run is one go through all functions.
type run struct {
	tree     localstack.Tree
	stack    localstack.Stack
	engine   *Engine
	world    demo.World
	bin      string // sam's folder of programs
	dir      string
	template string
	settings string
	sink     string
}

// Run invokes every function with every sample, and then does the main job through sam's gateway. It tells out what
// came of each; the error names those that went wrong.
func Run(ctx context.Context, tree localstack.Tree, stack localstack.Stack, out io.Writer) (err error) {
	r := &run{tree: tree, stack: stack, dir: tree.Path(".local", "sam")}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	if r.bin, err = tree.Setup(ctx, localstack.SAM); err != nil {
		return err
	}
	if r.engine, err = FindEngine(ctx, r.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.engine.Close()) }()
	door, endpoint, err := bridge(r.engine.Gateway, stack.EndpointURL)
	if err != nil {
		return err
	}
	defer door.Close()
	sink, url, err := listen(r.engine.Gateway)
	if err != nil {
		return err
	}
	defer sink.Close()
	r.sink = url

	var folders map[string]string
	if r.template, folders, err = lay(ctx, tree, r.dir); err != nil {
		return err
	}
	variables, err := settings(ctx, stack)
	if err != nil {
		return err
	}
	for _, v := range variables {
		v["AWS_ENDPOINT_URL"] = endpoint
	}
	text, err := json.Marshal(variables)
	if err != nil {
		return err
	}
	r.settings = filepath.Join(r.dir, "settings.json")
	if err := os.WriteFile(r.settings, text, 0o600); err != nil {
		return err
	}
	if r.world, err = demo.Make(ctx, stack); err != nil {
		return err
	}
	return errors.Join(r.invokeAll(ctx, folders, out), r.mainJob(ctx, out))
}

// atOnce are the functions that are invoked at a time: some of an invocation is sam's start, some is waiting.
const atOnce = 3

// invokeAll invokes each function with each of its samples.
func (r *run) invokeAll(ctx context.Context, folders map[string]string, out io.Writer) error {
	type one struct{ function, folder, file string }
	var all []one
	for _, function := range slices.Sorted(maps.Keys(folders)) {
		files, err := samples(r.tree, folders[function], folders)
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("events has no sample for %s", folders[function])
		}
		for _, file := range files {
			all = append(all, one{function, folders[function], file})
		}
	}
	// The first makes the image that the others use.
	var failed []error
	var mutex sync.Mutex
	do := func(o one) {
		began := time.Now()
		said, err := r.invoke(ctx, o.function, o.folder, o.file)
		mutex.Lock()
		defer mutex.Unlock()
		name := filepath.Base(o.file)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
			said = "FAILED"
		}
		fmt.Fprintf(out, "  %-32s %-7s %5.1f s\n", name, said, time.Since(began).Seconds())
	}
	do(all[0])
	turns := make(chan one)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for o := range turns {
				do(o)
			}
		})
	}
	for _, o := range all[1:] {
		turns <- o
	}
	close(turns)
	workers.Wait()
	fmt.Fprintf(out, "%d functions, %d samples, %d failed\n", len(folders), len(all), len(failed))
	return errors.Join(failed...)
}

// mainJob makes a world and lets it talk, each call of which goes through sam's gateway to a container.
func (r *run) mainJob(ctx context.Context, out io.Writer) error {
	port, err := localstack.FreePort()
	if err != nil {
		return err
	}
	gateway := r.sam(ctx, "start-api", "--port", strconv.Itoa(port), "--warm-containers", "LAZY")
	log, err := os.Create(filepath.Join(r.dir, "start-api.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	gateway.Stdout, gateway.Stderr = log, log
	gateway.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := gateway.Start(); err != nil {
		return err
	}
	defer end(gateway)
	for !localstack.Listening(port) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	through := r.stack
	through.APIURL = "http://127.0.0.1:" + strconv.Itoa(port)
	// sam has one container a function, which takes one call at a time: a sender that waits would keep its worker waiting.
	hurried := client.WithHTTPClient(&http.Client{Transport: shortWaits{}})
	patient := client.WithAttemptTimeout(time.Minute) // a first call starts a container
	world, err := demo.Make(ctx, through, patient, hurried)
	if err != nil {
		return fmt.Errorf("through sam local start-api: %w (%s)", err, log.Name())
	}
	if err := demo.DeployWorker(ctx, r.tree, through, world.Bank, world.Worker); err != nil {
		return err
	}
	t, err := demo.Talk(ctx, world, out)
	if err == nil && t.State != client.Completed {
		err = fmt.Errorf("the task ended %s", t.State)
	}
	if err != nil {
		return fmt.Errorf("through sam local start-api: %w (%s)", err, log.Name())
	}
	fmt.Fprintln(out, "the main job through sam local start-api: done")
	return nil
}

// shortWaits lets no call be held for more than a second.
type shortWaits struct{}

func (shortWaits) RoundTrip(r *http.Request) (*http.Response, error) {
	if query := r.URL.Query(); query.Has("wait") {
		query.Set("wait", "1")
		r = r.Clone(r.Context())
		r.URL.RawQuery = query.Encode()
	}
	return http.DefaultTransport.RoundTrip(r)
}

// end lets sam remove its containers.
func end(gateway *exec.Cmd) {
	gateway.Process.Signal(os.Interrupt)
	ended := make(chan struct{})
	go func() {
		gateway.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		gateway.Process.Kill()
	}
}

func architecture() string {
	if runtime.GOARCH == "arm64" {
		return "arm64"
	}
	return "x86_64"
}
