package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// runtimeAPI is Lambda's side of a function's process, as far as one invocation goes (AWS, "Using the Lambda runtime
// API for custom runtimes").
type runtimeAPI struct {
	server   *http.Server
	address  string
	ready    chan time.Time // when the process first asked for an event: its initialization is over
	answered chan invocation
}

type invocation struct {
	at    time.Time
	body  string
	fault bool
}

func newRuntimeAPI(event []byte) (*runtimeAPI, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &runtimeAPI{address: listener.Addr().String(), ready: make(chan time.Time, 1), answered: make(chan invocation, 1)}
	var served atomic.Bool
	const base = "/2018-06-01/runtime/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+base+"invocation/next", func(w http.ResponseWriter, q *http.Request) {
		if served.Swap(true) {
			<-q.Context().Done() // the next event never comes
			return
		}
		r.ready <- time.Now()
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(20*time.Second).UnixMilli()))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:bench")
		w.Write(event)
	})
	answer := func(w http.ResponseWriter, q *http.Request) {
		at := time.Now()
		body, _ := io.ReadAll(q.Body)
		r.answered <- invocation{at, string(body), !strings.HasSuffix(q.URL.Path, "/response")}
		w.WriteHeader(http.StatusAccepted)
	}
	mux.HandleFunc("POST "+base+"invocation/{id}/response", answer)
	mux.HandleFunc("POST "+base+"invocation/{id}/error", answer)
	mux.HandleFunc("POST "+base+"init/error", answer)
	r.server = &http.Server{Handler: mux}
	go r.server.Serve(listener)
	return r, nil
}

// start starts a program, gives it one event, and tells how long it took until it was ready for that and until it answered.
func start(ctx context.Context, program string, env []string, event []byte) (ready, took time.Duration, answer invocation, err error) {
	r, err := newRuntimeAPI(event)
	if err != nil {
		return 0, 0, answer, err
	}
	defer r.server.Close()
	ctx, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + r.address}, env...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, answer, err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	select {
	case answer = <-r.answered:
		stop()
		<-exited
		return (<-r.ready).Sub(began), answer.at.Sub(began), answer, nil
	case err := <-exited:
		return 0, 0, answer, fmt.Errorf("it ended before it answered: %v: %s", err, said.String())
	}
}
