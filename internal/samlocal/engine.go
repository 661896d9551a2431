package samlocal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Engine is a running container engine.
type Engine struct {
	Host      string // for DOCKER_HOST
	Gateway   string // the address at which containers reach this machine
	skipPull  bool   // the runtime's image was made here
	ownedByUs *exec.Cmd
}

// FindEngine is the engine that DOCKER_HOST names, Docker's at its usual place, or podman's, started here with its
// files in dir.
func FindEngine(ctx context.Context, dir string) (*Engine, error) {
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return (&Engine{Host: host}).found(ctx)
	}
	const usual = "/var/run/docker.sock"
	if _, err := os.Stat(usual); err == nil {
		return (&Engine{Host: "unix://" + usual}).found(ctx)
	}
	if _, err := exec.LookPath("podman"); err != nil {
		return nil, errors.New("no container engine: neither DOCKER_HOST, nor Docker, nor podman is there (docs/sam-local.md)")
	}
	return startPodman(ctx, dir)
}

// containersConf is podman's configuration. Its usual limits are more than a machine without systemd, or a container,
// may set; cgroupfs and runc need no systemd either.
const containersConf = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
`

func startPodman(ctx context.Context, dir string) (*Engine, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "containers.conf")
	if err := os.WriteFile(conf, []byte(containersConf), 0o644); err != nil {
		return nil, err
	}
	// A socket's path may have 107 bytes, and a checkout's more.
	short, err := os.MkdirTemp("", "baton-podman-")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(short, "podman.sock")
	service := exec.Command("podman", "system", "service", "--time=0", "unix://"+socket)
	service.Env = append(os.Environ(), "CONTAINERS_CONF="+conf)
	if err := service.Start(); err != nil {
		return nil, err
	}
	e := &Engine{Host: "unix://" + socket, skipPull: true, ownedByUs: service}
	for range 100 {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	podman := func(stdin *bytes.Buffer, arg ...string) error {
		cmd := exec.CommandContext(ctx, "podman", arg...)
		cmd.Env = service.Env
		if stdin != nil {
			cmd.Stdin = stdin
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("podman %s: %w\n%s", arg[0], err, out)
		}
		return nil
	}
	if podman(nil, "image", "exists", image()) != nil {
		root, err := rootfs()
		if err == nil {
			err = podman(root, "import", "-", image())
		}
		if err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	// Shows that containers start at all, and makes the bridge.
	if err := podman(nil, "run", "--rm", image(), "/bin/true"); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e, err = e.found(ctx)
	return e, err
}

// image is the runtime's, as sam names it.
func image() string {
	architecture := "x86_64"
	if runtime.GOARCH == "arm64" {
		architecture = "arm64"
	}
	return "public.ecr.aws/lambda/provided:al2023-" + architecture
}

// found looks up the gateway of the engine's bridge.
func (e *Engine) found(ctx context.Context) (*Engine, error) {
	socket, ok := strings.CutPrefix(e.Host, "unix://")
	if !ok {
		return nil, fmt.Errorf("DOCKER_HOST is %q, and only an engine at a unix:// socket is on this machine for sure", e.Host)
	}
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	for _, name := range []string{"bridge", "podman"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine/v1.41/networks/"+name, nil)
		if err != nil {
			return nil, err
		}
		res, err := client.Do(req)
		if err != nil {
			return nil, fmt.Errorf("the container engine does not answer: %w", err)
		}
		var network struct {
			IPAM struct{ Config []struct{ Gateway string } }
		}
		err = json.NewDecoder(res.Body).Decode(&network)
		res.Body.Close()
		if err == nil && res.StatusCode == http.StatusOK && len(network.IPAM.Config) > 0 {
			e.Gateway = network.IPAM.Config[0].Gateway
			return e, nil
		}
	}
	return nil, errors.New("the container engine has no bridge by the name of bridge or podman")
}

// Close stops the engine if it was started here.
func (e *Engine) Close() error {
	if e.ownedByUs == nil {
		return nil
	}
	if err := e.ownedByUs.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	e.ownedByUs.Wait() // an interrupted program's status says nothing
	return os.RemoveAll(filepath.Dir(strings.TrimPrefix(e.Host, "unix://")))
}
