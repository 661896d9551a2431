package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	secretPrefix = "whsec_"
	// Standard Webhooks, "Signature scheme": at least 24 bytes, 64 at most. New ones have 32, the size of the hash.
	minSecret, maxSecret, newSecret = 24, 64, 32
	// bothSign is how long the secret before a rotation goes on signing (contract section 4).
	bothSign = 24 * time.Hour
)

// Secret is the key that one hook and its receiver share. Printed it is masked; Reveal is for the one answer that
// shows it, and for storage.
type Secret struct{ key string }

// NewSecret returns 32 random bytes.
func NewSecret() Secret {
	b := make([]byte, newSecret)
	rand.Read(b) // never fails: crypto/rand ends the process instead
	return Secret{string(b)}
}

// ParseSecret reads what Reveal wrote.
func ParseSecret(s string) (Secret, error) {
	encoded, ok := strings.CutPrefix(s, secretPrefix)
	b, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || len(b) < minSecret || len(b) > maxSecret {
		return Secret{}, errors.New("webhook: not a secret of the form whsec_ and base64 of 24 to 64 bytes")
	}
	return Secret{string(b)}, nil
}

// Reveal is the form that receivers' libraries take: whsec_ and standard base64.
func (s Secret) Reveal() string {
	return secretPrefix + base64.StdEncoding.EncodeToString([]byte(s.key))
}

// String is not the secret.
func (s Secret) String() string { return secretPrefix + "…" }

// GoString is not the secret either.
func (s Secret) GoString() string { return s.String() }

// IsZero says whether there is no secret.
func (s Secret) IsZero() bool { return s.key == "" }

// Keys are a hook's secrets: the current one, and after a rotation for a day the one before it.
type Keys struct {
	Current       Secret
	Previous      Secret    // zero before the first rotation
	PreviousUntil time.Time // Previous signs before this time
	Rotated       string    // what is known of the caller's own id for the latest rotation
}

// Rotate makes a new current secret; the one that was current signs for 24 h more. A secret that was already on its
// way out stops signing at once: there are never more than two.
func (k Keys) Rotate(now time.Time) Keys {
	return Keys{Current: NewSecret(), Previous: k.Current, PreviousUntil: now.Add(bothSign)}
}

// sign sets the three headers of Standard Webhooks. The id stays the same over all tries of a delivery, the time is the
// attempt's. The id must hold no dot, or one could be read as part of another's time.
func (k Keys) sign(h http.Header, id string, at time.Time, body []byte) error {
	secrets := []Secret{k.Current}
	if !k.Previous.IsZero() && at.Before(k.PreviousUntil) {
		secrets = append(secrets, k.Previous)
	}
	var signatures []string
	for _, s := range secrets {
		// An empty key would sign too, and anybody could forge it.
		if s.IsZero() || id == "" || strings.Contains(id, ".") {
			return errors.New("webhook: nothing to sign with, or an id that can't be signed")
		}
		w, err := standardwebhooks.NewWebhookRaw([]byte(s.key))
		if err != nil {
			return err
		}
		signature, err := w.Sign(id, at, body)
		if err != nil {
			return err
		}
		signatures = append(signatures, signature)
	}
	h.Set(standardwebhooks.HeaderWebhookID, id)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return nil
}
