package localstack

import (
	"errors"
	"os"
	"path/filepath"
)

// Tree is a checkout of this repository, by the path of its root.
type Tree string

// FindTree is the checkout that the working directory is in.
func FindTree() (Tree, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "template.yaml")); err == nil {
			return Tree(dir), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("not inside the repository: no template.yaml here or above")
		}
		dir = parent
	}
}

// Path is a path inside the checkout.
func (t Tree) Path(elem ...string) string {
	return filepath.Join(append([]string{string(t)}, elem...)...)
}
