package samlocal

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// rootfs is the least that stands in for Lambda's own image where it can't be pulled: sam adds its runtime interface
// emulator with a shell, mv and chmod, and our functions are static programs that need nothing at all.
func rootfs() (*bytes.Buffer, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return nil, errors.New("no busybox to make the runtime's image of (Debian's busybox-static; docs/sam-local.md)")
	}
	busybox, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, dir := range []string{"bin", "etc", "tmp", "opt", "proc", "sys", "dev", "var/rapid", "var/task", "var/runtime"} {
		mode := int64(0o755)
		if dir == "tmp" {
			mode = 0o1777
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: mode}); err != nil {
			return nil, err
		}
	}
	if err := w.WriteHeader(&tar.Header{Name: "bin/busybox", Mode: 0o755, Size: int64(len(busybox))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(busybox); err != nil {
		return nil, err
	}
	for _, name := range []string{"sh", "mv", "cp", "rm", "chmod", "true"} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox"}); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("make the runtime's image: %w", err)
	}
	return &out, nil
}
