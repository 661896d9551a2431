package localstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildFlags are how every function is built, here and for AWS: no log of RPC mode, no paths, no symbols.
var BuildFlags = []string{"-tags=lambda.norpc", "-trimpath", "-ldflags=-s -w"}

// Function is a built function.
type Function struct {
	Folder string // "functions/send-task"
	Binary string // path of the program
	Hash   string // of the program
}

// Build builds the packages ("./functions/...") for this machine, in one run of the compiler so that what they share
// is compiled once, and returns them by folder. Without cgo: a dynamic program does not start in Lambda's image.
func (t Tree) Build(ctx context.Context, out string, packages ...string) (map[string]Function, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	args := append([]string{"build", "-o", out + string(filepath.Separator)}, BuildFlags...)
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Dir = string(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=", "GOARCH=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, text)
	}
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-f", "{{.Dir}}"}, packages...)...)
	list.Dir = string(t)
	dirs, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	built := map[string]Function{}
	for line := range strings.Lines(string(dirs)) { // not Fields: a folder above may have a space in its name
		dir := strings.TrimSuffix(line, "\n")
		folder, err := filepath.Rel(string(t), dir)
		if err != nil {
			return nil, err
		}
		f := Function{Folder: filepath.ToSlash(folder), Binary: filepath.Join(out, filepath.Base(dir))}
		program, err := os.ReadFile(f.Binary)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(program)
		f.Hash = hex.EncodeToString(sum[:])
		built[f.Folder] = f
	}
	return built, nil
}
