package client_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"baton/client"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func TestVerify(t *testing.T) {
	secret := func(fill byte) string {
		raw := make([]byte, 32)
		for i := range raw {
			raw[i] = fill
		}
		return "whsec_" + base64.StdEncoding.EncodeToString(raw)
	}
	mine, before, other := secret(1), secret(2), secret(3)
	body := `{"id":"e1","type":"a2a.task.created","sequence":7,"payload":{"task_id":"t1"}}`
	signed := func(by string, at time.Time) http.Header {
		signer, err := standardwebhooks.NewWebhook(by)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := signer.Sign("d1", at, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return http.Header{
			client.HeaderWebhookID: {"d1"}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)}, "Webhook-Signature": {signature},
		}
	}
	now := time.Now()
	both := signed(mine, now)
	both.Set("Webhook-Signature", signed(other, now).Get("Webhook-Signature")+" "+both.Get("Webhook-Signature"))
	for name, c := range map[string]struct {
		header  http.Header
		body    string
		secrets []string
		good    bool
	}{
		"signed":                         {signed(mine, now), body, []string{mine}, true},
		"one of two signatures":          {both, body, []string{mine}, true},
		"one of two secrets":             {signed(before, now), body, []string{mine, before}, true},
		"another's secret":               {signed(other, now), body, []string{mine}, false},
		"another body":                   {signed(mine, now), body + " ", []string{mine}, false},
		"too old":                        {signed(mine, now.Add(-6*time.Minute)), body, []string{mine}, false},
		"from the future":                {signed(mine, now.Add(6*time.Minute)), body, []string{mine}, false},
		"no headers":                     {http.Header{}, body, []string{mine}, false},
		"no secrets":                     {signed(mine, now), body, nil, false},
		"no secret, which anybody knows": {signed("whsec_", now), body, []string{"whsec_"}, false},
		"an empty secret":                {signed("", now), body, []string{""}, false},
	} {
		e, err := client.Verify(c.header, []byte(c.body), c.secrets...)
		if good := err == nil && e.ID == "e1" && e.Sequence == 7; good != c.good {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		if malformed := len(c.secrets) == 1 && len(c.secrets[0]) < 10; err != nil && errors.Is(err, client.ErrNotVerified) == malformed {
			t.Errorf("%s: %v", name, err)
		}
	}
}
