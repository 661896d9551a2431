package localstack

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What the local AWS takes for the account's root. Every other key has exactly the permissions of its policies.
const (
	Region          = "us-east-1"
	AccessKeyID     = "test"
	SecretAccessKey = "test"
)

//go:embed ministack.py
var launcher string

// Server is a running local AWS.
type Server struct {
	Port int
	PID  int
}

// Endpoint is the URL for all its services.
func (s Server) Endpoint() string { return "http://127.0.0.1:" + strconv.Itoa(s.Port) }

// ErrPortTaken says that something that was not started here listens on the port.
var ErrPortTaken = errors.New("port is taken")

// Start starts a local AWS that keeps its state in memory, enforces IAM, and logs to dir: itself to ministack.log, the
// functions to functions.log. It returns when the server answers. With a life line, the read end of a pipe, the server ends
// when the other end is closed, at the latest with this process, and dir is removed; without one it runs on until Stop.
func (t Tree) Start(ctx context.Context, port int, dir string, lifeline *os.File) (Server, error) {
	bin, err := t.Setup(ctx, Ministack)
	if err != nil {
		return Server{}, err
	}
	if Listening(port) {
		return Server{}, fmt.Errorf("port %d: %w", port, ErrPortTaken)
	}
	scratch := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return Server{}, err
	}
	log, err := os.Create(filepath.Join(dir, "ministack.log"))
	if err != nil {
		return Server{}, err
	}
	defer log.Close()
	functionsLog, err := filepath.Abs(filepath.Join(dir, "functions.log"))
	if err != nil {
		return Server{}, err
	}
	if err := os.WriteFile(functionsLog, nil, 0o644); err != nil {
		return Server{}, err
	}

	server := Server{Port: port}
	cmd := exec.Command(filepath.Join(bin, "python3"), "-c", launcher)
	if lifeline != nil {
		cmd.Stdin = lifeline
		cmd.Args = append(cmd.Args, dir)
	}
	cmd.Stdout, cmd.Stderr = log, log
	// A function's environment is the server's and its own, so nothing of this process's may leak into it.
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + scratch,
		"TMPDIR=" + scratch,
		"PYTHONDONTWRITEBYTECODE=1",
		"AUTH=true",
		"BIND_HOST=127.0.0.1",
		"GATEWAY_PORT=" + strconv.Itoa(port),
		"AWS_ENDPOINT_URL=" + server.Endpoint(),
		"AWS_ACCESS_KEY_ID=" + AccessKeyID,
		"AWS_SECRET_ACCESS_KEY=" + SecretAccessKey,
		"MINISTACK_REGION=" + Region,
		"FUNCTIONS_LOG=" + functionsLog,
	}
	// A group of its own: an interrupt at the keyboard is not for the server, and Stop ends its functions with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return Server{}, err
	}
	server.PID = cmd.Process.Pid
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()

	deadline := time.After(60 * time.Second)
	for !server.healthy(ctx) {
		select {
		case err := <-exited:
			return Server{}, fmt.Errorf("the local AWS ended at once (%v); its log is %s", err, log.Name())
		case <-deadline:
			server.Stop()
			return Server{}, fmt.Errorf("the local AWS did not answer within a minute; its log is %s", log.Name())
		case <-ctx.Done():
			server.Stop()
			return Server{}, ctx.Err()
		case <-time.After(30 * time.Millisecond):
		}
	}
	return server, nil
}

// Stop ends the server and the functions it runs. Stopping one that is gone is fine.
func (s Server) Stop() {
	if s.PID <= 0 || !s.Alive() {
		return
	}
	syscall.Kill(-s.PID, syscall.SIGTERM)
	for range 100 {
		if !s.Alive() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	syscall.Kill(-s.PID, syscall.SIGKILL)
}

// Alive says whether the server's process runs.
func (s Server) Alive() bool {
	var status syscall.WaitStatus
	syscall.Wait4(s.PID, &status, syscall.WNOHANG, nil) // collect it, if it was our child
	return syscall.Kill(s.PID, 0) == nil
}

func (s Server) healthy(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint()+"/_ministack/health", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return err == nil && res.StatusCode == http.StatusOK && strings.Contains(string(body), "dynamodb")
}

// Listening says whether something listens on the port of this machine.
func Listening(port int) bool {
	conn, err := net.DialTimeout("tcp", "127.0.0.1:"+strconv.Itoa(port), time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// FreePort is a port that nothing listened on a moment ago.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
