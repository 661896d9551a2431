package localstack

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The pinned Python tools, an environment each: they want different versions of the same libraries, and most
// commands need only the first, which installs in seconds.
const (
	Ministack = "ministack" // the local AWS
	SAM       = "sam"       // sam and cfn-lint
)

//go:embed requirements/*.txt
var requirements embed.FS

// Setup makes the Python environment of a tool under .venv, unless it is there and of the pinned versions, and
// returns its folder of programs. It is safe to call from several processes at once.
func (t Tree) Setup(ctx context.Context, tool string) (bin string, err error) {
	wanted, err := requirements.ReadFile("requirements/" + tool + ".txt")
	if err != nil {
		return "", err
	}
	venv := t.Path(".venv", tool)
	bin = filepath.Join(venv, "bin")
	stamp := filepath.Join(venv, "installed")
	sum := sha256.Sum256(wanted)
	mark := hex.EncodeToString(sum[:])
	installed := func() bool {
		have, err := os.ReadFile(stamp)
		return err == nil && string(have) == mark
	}
	if installed() {
		return bin, nil
	}

	if err := os.MkdirAll(t.Path(".venv"), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, t.Path(".venv", tool+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if installed() { // another process was faster
		return bin, nil
	}

	python, err := findPython(ctx)
	if err != nil {
		return "", err
	}
	list := filepath.Join(t.Path(".venv"), tool+".txt")
	if err := os.WriteFile(list, wanted, 0o644); err != nil {
		return "", err
	}
	err = Step(ctx, "install "+tool+" into .venv/"+tool, func() error {
		if err := os.RemoveAll(venv); err != nil {
			return err
		}
		if err := run(ctx, python, "-m", "venv", venv); err != nil {
			return fmt.Errorf("%w\n(on Debian and Ubuntu the package python3-venv may be missing)", err)
		}
		return run(ctx, filepath.Join(bin, "pip"), "install", "--quiet", "--disable-pip-version-check",
			"--no-input", "--requirement", list)
	})
	if err != nil {
		return "", err
	}
	return bin, os.WriteFile(stamp, []byte(mark), 0o644)
}

// findPython returns a Python that is new enough for the tools; PYTHON in the environment names another one.
func findPython(ctx context.Context) (string, error) {
	names := []string{"python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"}
	if chosen := os.Getenv("PYTHON"); chosen != "" {
		names = []string{chosen}
	}
	var seen []string
	for _, name := range names {
		out, err := exec.CommandContext(ctx, name, "-c",
			"import sys; print('%d.%d.%d' % sys.version_info[:3], sys.version_info >= (3, 10))").Output()
		if err != nil {
			continue
		}
		version, enough, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
		if enough == "True" {
			return name, nil
		}
		seen = append(seen, name+" is "+version)
	}
	if seen == nil {
		return "", fmt.Errorf("no Python: 3.10 or newer is needed, and none of %s is there", strings.Join(names, ", "))
	}
	return "", fmt.Errorf("too old a Python: 3.10 or newer is needed, and %s; name another with PYTHON=/path/to/python3",
		strings.Join(seen, ", "))
}

// run runs a command and returns what it printed only when it failed.
func run(ctx context.Context, name string, arg ...string) error {
	out, err := exec.CommandContext(ctx, name, arg...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, out)
	}
	return nil
}

// lock takes the file's exclusive lock, which ends with the process at the latest. It waits for as long as ctx lasts.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if errors.Is(err, syscall.EWOULDBLOCK) {
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
}
