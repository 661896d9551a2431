package client

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// HeaderWebhookID names a delivery, the same over all its tries and redeliveries: a receiver that knows it already has
// done its work, and answers 2xx.
const HeaderWebhookID = "Webhook-Id"

// ErrNotVerified says that a request is not a webhook's of this secret, or that it is older or newer than 5 minutes.
var ErrNotVerified = errors.New("baton: not a signed webhook request")

// minSecret is the least that Standard Webhooks lets a secret have ("Signature scheme"): with an empty one anybody could sign.
const minSecret = 24

// Verify reads the event of a webhook's request after looking at its signature, which must be by one of the secrets
// (whsec_…) and over body byte for byte. Two secrets are for the day after RotateWebhookSecret. Errors: ErrNotVerified
// (answer 401), or one that says which secret is none.
func Verify(header http.Header, body []byte, secrets ...string) (Event, error) {
	failed := ErrNotVerified
	for n, secret := range secrets {
		encoded, ok := strings.CutPrefix(secret, "whsec_")
		if raw, err := base64.StdEncoding.DecodeString(encoded); !ok || err != nil || len(raw) < minSecret {
			return Event{}, fmt.Errorf("baton: secret %d is not of the form whsec_…", n+1)
		}
		signer, err := standardwebhooks.NewWebhook(secret)
		if err == nil {
			err = signer.Verify(body, header)
		}
		if err != nil {
			failed = fmt.Errorf("%w: %w", ErrNotVerified, err)
			continue
		}
		var e Event
		if err := json.Unmarshal(body, &e); err != nil {
			return Event{}, fmt.Errorf("baton: event: %w", err)
		}
		return e, nil
	}
	return Event{}, failed
}
