package system

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"baton/internal/localstack"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// overheard is what went over the wire and may stand in no log: what was said, and the secrets. By where it was seen.
var overheard = eavesdropper{to: wire.Transport, said: map[string]string{}}

func init() { wire.Transport = &overheard }

// eavesdropper is a transport that remembers.
type eavesdropper struct {
	to   http.RoundTripper
	mu   sync.Mutex
	said map[string]string
}

func (e *eavesdropper) RoundTrip(r *http.Request) (*http.Response, error) {
	where := r.Method + " " + r.URL.Path
	e.note(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), where)
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			text, _ := io.ReadAll(body)
			e.read(text, where)
		}
	}
	res, err := e.to.RoundTrip(r)
	if err != nil || res.Header.Get("Content-Type") != "application/json" {
		return res, err
	}
	text, err := io.ReadAll(res.Body)
	res.Body.Close()
	e.read(text, where)
	res.Body = io.NopCloser(bytes.NewReader(text))
	return res, err
}

// note takes what stands for itself: "Done." may be said by anybody, and so may "delivered".
func (e *eavesdropper) note(secret, where string) {
	if len(secret) < 8 || len(secret) < 16 && !strings.Contains(secret, " ") {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.said[secret[:min(len(secret), 60)]] = where
}

// read notes the texts and secrets of a JSON document.
func (e *eavesdropper) read(document []byte, where string) {
	var v any
	if json.Unmarshal(document, &v) != nil {
		return
	}
	e.walk(v, "", where)
}

func (e *eavesdropper) walk(v any, field, where string) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			e.walk(inner, name, where)
		}
	case []any:
		for _, inner := range v {
			e.walk(inner, field, where)
		}
	case string:
		switch field {
		case "secret", "message", "result", "question", "text", "data", "note", "bytes":
			e.note(v, where)
		}
	}
}

// logsAreSilent says which of what was overheard, and of what Secrets Manager keeps, stands in a line of a function or of
// the local AWS.
func logsAreSilent(ctx context.Context, server localstack.Server, dir string) error {
	var log []byte
	for _, name := range []string{"functions.log", "ministack.log"} {
		lines, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		log = append(log, lines...)
	}
	secrets := secretsmanager.NewFromConfig(server.Config())
	list, err := secrets.ListSecrets(ctx, &secretsmanager.ListSecretsInput{})
	if err != nil {
		return err
	}
	for _, s := range list.SecretList {
		if value, err := secrets.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: s.ARN}); err == nil && value.SecretString != nil {
			overheard.note(*value.SecretString, *s.Name)
		}
	}
	overheard.mu.Lock()
	defer overheard.mu.Unlock()
	var told []string
	for text, where := range overheard.said {
		quoted, _ := json.Marshal(text) // as it would stand in a line of JSON
		for _, form := range [][]byte{[]byte(text), quoted[1 : len(quoted)-1]} {
			if at := bytes.Index(log, form); at >= 0 {
				line := log[bytes.LastIndexByte(log[:at], '\n')+1:]
				told = append(told, fmt.Sprintf("%q of %s: %.200s", text, where, line))
				break
			}
		}
	}
	fmt.Printf("logs: %d texts and secrets looked for in %d KB\n", len(overheard.said), len(log)/1024)
	return problems("what must not stand in a log", told)
}
