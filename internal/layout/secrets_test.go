package layout

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"baton/internal/directory"
	"baton/internal/webhook"
)

// What make secrets looks with, at a text.
func leaks(t *testing.T, text string) bool {
	t.Helper()
	cmd := exec.Command("go", "tool", "-modfile=internal/tools/go.mod", "gitleaks", "stdin",
		"--config", "internal/tools/gitleaks.toml", "--no-banner", "--exit-code", "42")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != 42 {
		t.Fatalf("gitleaks: %v\n%s", err, out)
	}
	if found := err != nil; found != bytes.Contains(out, []byte("leaks found: ")) {
		t.Fatalf("gitleaks says\n%s", out)
	}
	return err != nil
}

func TestWhatBatonHandsOutIsFoundWhereItMustNotBe(t *testing.T) {
	mint := directory.NewMint("a stamp of this test")
	for name, text := range map[string]string{
		"an agent's key":         mint.New(directory.Agent),
		"an organization's key":  mint.New(directory.Org),
		"the operator's key":     mint.New(directory.Operator),
		"what signs webhooks":    webhook.NewSecret().Reveal(),
		"a key of AWS":           "aws_access_key_id = AKIA" + strings.ToUpper("q3egrn5ybw7xkzjd"),
		"a private key of PEM":   "-----BEGIN " + "PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBK\n", 8) + "-----END PRIVATE KEY-----",
		"a key among other text": `curl -H "Authorization: Bearer ` + mint.New(directory.Agent) + `" https://api.example.com`,
	} {
		if !leaks(t, text) {
			t.Errorf("%s is not found", name)
		}
	}
	if leaks(t, "key := stack.OperatorKey // never printed") {
		t.Error("what is no secret is taken for one")
	}
}
