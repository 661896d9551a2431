package localstack

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBuildUnderAFolderWithASpace(t *testing.T) {
	tree := Tree(filepath.Join(t.TempDir(), "my projects"))
	for name, text := range map[string]string{
		"go.mod":                    "module baton\n\ngo 1.26\n",
		"functions/nothing/main.go": "package main\n\nfunc main() {}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(tree.Path(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tree.Path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	built, err := tree.Build(t.Context(), tree.Path("out"), "./functions/...")
	if err != nil {
		t.Fatal(err)
	}
	if f := built["functions/nothing"]; len(built) != 1 || f.Binary != tree.Path("out", "nothing") {
		t.Errorf("built %v", built)
	}
}
