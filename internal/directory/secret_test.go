package directory_test

import (
	"crypto/sha256"
	"encoding/base64"
	"hash/crc32"
	"regexp"
	"strings"
	"testing"

	"baton/internal/directory"
)

func TestSecretIsKnownByItsMintAlone(t *testing.T) {
	mint := directory.NewMint("one")
	for kind, form := range map[directory.Kind]string{
		directory.Agent:    `^btk_agent_[0-9A-Za-z]{46}$`,
		directory.Org:      `^btk_org_[0-9A-Za-z]{46}$`,
		directory.Operator: `^btk_operator_[0-9A-Za-z]{46}$`,
	} {
		secret := mint.New(kind)
		if !regexp.MustCompile(form).MatchString(secret) {
			t.Errorf("%s: %q is not of the form %s", kind, secret, form)
		}
		if got, ok := mint.Check(secret); !ok || got != kind {
			t.Errorf("%q: known as %q, %v", secret, got, ok)
		}
		if _, ok := directory.NewMint("two").Check(secret); ok {
			t.Errorf("%q: another mint knows it", secret)
		}
		for i := range secret {
			other := "0"
			if secret[i] == '0' {
				other = "1"
			}
			if _, ok := mint.Check(secret[:i] + other + secret[i+1:]); ok {
				t.Errorf("%q: known with its character %d changed", secret, i)
			}
		}
		if hint := directory.Hint(secret); !strings.HasPrefix(secret, hint) || len(secret)-len(hint) < 40 {
			t.Errorf("%q: hint %q tells too much", secret, hint)
		}
	}
	if first, second := mint.New(directory.Agent), mint.New(directory.Agent); first == second {
		t.Error("the same secret twice")
	}
}

// A scanner knows the prefix and the checksum, and nothing of us.
func TestScannerKnowsSecret(t *testing.T) {
	secret := directory.NewMint("stamp").New(directory.Agent)
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var sum uint64
	for _, c := range secret[len(secret)-6:] {
		sum = sum*62 + uint64(strings.IndexRune(digits, c))
	}
	if want := uint64(crc32.ChecksumIEEE([]byte(secret[:len(secret)-6]))); sum != want {
		t.Errorf("checksum reads %d, want %d", sum, want)
	}
}

func TestGarbageIsNoSecret(t *testing.T) {
	mint := directory.NewMint("one")
	for _, s := range []string{
		"", "btk_", "btk_agent_", "btk_agent_" + strings.Repeat("0", 46), "btk_operator_" + strings.Repeat("é", 23),
		strings.Repeat("a", 1<<20), mint.New(directory.Agent) + "0", " " + mint.New(directory.Agent),
		strings.Replace(mint.New(directory.Agent), "agent", "operator", 1),
	} {
		if kind, ok := mint.Check(s); ok {
			t.Errorf("%.60q: known as %s", s, kind)
		}
	}
}

func TestHandles(t *testing.T) {
	for in, want := range map[string]string{
		"abc": "abc", "@abc": "abc", "AbC-9": "abc-9", "@A--b": "a--b", strings.Repeat("a", 32): strings.Repeat("a", 32),
		"ab": "", "@ab": "", "@@abc": "", "9abc": "", "-abc": "", "abc-": "", "a_b": "", "a b": "", "äbc": "", "ab\u212a": "",
		strings.Repeat("a", 33): "", "": "", "@": "",
	} {
		if got, ok := directory.ParseHandle(in); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", in, got, ok, want)
		}
	}
}

// TestNoSecretIsStored makes a key of every kind and looks for what is stored of it: the hash, and of the secret itself
// no more than its beginning, by which its owner knows it again.
func TestNoSecretIsStored(t *testing.T) {
	w := newWorld(t)
	o, admin := w.organization("Acme")
	w.agent(admin, "agent")
	_, agents, err := w.CreateKey(t.Context(), admin, directory.NewKeyRequest{Identity: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	operator, err := w.CreateOperatorKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	everything := w.everything()
	for _, secret := range []string{o.Secret, agents, operator} {
		hint := directory.Hint(secret)
		if hash := sha256.Sum256([]byte(secret)); !strings.Contains(everything, base64.RawURLEncoding.EncodeToString(hash[:])) {
			t.Errorf("no hash of %s…", hint)
		}
		for rest := strings.TrimPrefix(secret, hint); len(rest) >= 6; rest = rest[1:] {
			if strings.Contains(everything, rest[:6]) {
				t.Errorf("a part of %s… is stored", hint)
			}
		}
	}
}
