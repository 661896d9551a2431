package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func mustSecret(t *testing.T, s string) Secret {
	t.Helper()
	secret, err := ParseSecret(s)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func verify(t *testing.T, s Secret, h http.Header, body []byte) error {
	t.Helper()
	w, err := standardwebhooks.NewWebhook(s.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return w.Verify(body, h)
}

func TestSignature(t *testing.T) {
	t.Run("is the one of the published example", func(t *testing.T) {
		h := http.Header{}
		keys := Keys{Current: mustSecret(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}
		err := keys.sign(h, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 999), []byte(`{"test": 2432232314}`))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"webhook-id":        "msg_p5jXN8AQM9LWM0D4loKWxJek",
			"webhook-timestamp": "1614265330",
			"webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	})
	t.Run("is an HMAC of id, time and body joined by dots", func(t *testing.T) {
		h, key, body := http.Header{}, bytes.Repeat([]byte{0xfb}, 64), []byte("\xff\x00{}")
		keys := Keys{Current: mustSecret(t, "whsec_"+base64.StdEncoding.EncodeToString(key))}
		if err := keys.sign(h, "an-id", time.Unix(1, 0), body); err != nil {
			t.Fatal(err)
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "an-id.1.%s", body)
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); h.Get("webhook-signature") != want {
			t.Errorf("%q, want %q", h.Get("webhook-signature"), want)
		}
	})
	for _, row := range []struct {
		name string
		keys Keys
		id   string
	}{
		{"is refused without a secret", Keys{}, "id"},
		{"is refused without an id", Keys{Current: NewSecret()}, ""},
		{"is refused for an id with a dot", Keys{Current: NewSecret()}, "a.1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := http.Header{}
			if err := row.keys.sign(h, row.id, time.Now(), nil); err == nil || len(h) != 0 {
				t.Errorf("signed: %v", h)
			}
		})
	}
}

func TestRotation(t *testing.T) {
	body, now := []byte(`{"a":1}`), time.Now()
	before := Keys{Current: NewSecret()}
	rotated := before.Rotate(now)
	twice := rotated.Rotate(now)
	for _, row := range []struct {
		name   string
		keys   Keys
		at     time.Time
		verify []Secret
		refuse []Secret
	}{
		{"one secret makes one signature", before, now, []Secret{before.Current}, []Secret{rotated.Current}},
		{"both secrets verify right after a rotation", rotated, now, []Secret{before.Current, rotated.Current}, nil},
		{"both verify until a day is over", rotated, now.Add(24*time.Hour - time.Nanosecond),
			[]Secret{before.Current, rotated.Current}, nil},
		{"only the new one verifies after a day", rotated, now.Add(24 * time.Hour),
			[]Secret{rotated.Current}, []Secret{before.Current}},
		{"a second rotation ends the first secret", twice, now,
			[]Secret{rotated.Current, twice.Current}, []Secret{before.Current}},
	} {
		t.Run(row.name, func(t *testing.T) {
			// The library has no clock to set, so a later signature is verified as if it were made now.
			keys := row.keys
			keys.PreviousUntil = keys.PreviousUntil.Add(now.Sub(row.at))
			h := http.Header{}
			if err := keys.sign(h, "id", now, body); err != nil {
				t.Fatal(err)
			}
			for _, s := range row.verify {
				if err := verify(t, s, h, body); err != nil {
					t.Error(err)
				}
				if verify(t, s, h, append(body, ' ')) == nil {
					t.Error("verified another body")
				}
			}
			for _, s := range row.refuse {
				if verify(t, s, h, body) == nil {
					t.Error("verified with a secret that must not sign")
				}
			}
			if got := len(strings.Split(h.Get("webhook-signature"), " ")); got != len(row.verify) {
				t.Errorf("%d signatures, want %d", got, len(row.verify))
			}
		})
	}
}

func TestSecret(t *testing.T) {
	encoded := func(n int) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, n)) }
	for _, row := range []struct {
		name string
		in   string
		ok   bool
	}{
		{"the shortest", "whsec_" + encoded(24), true},
		{"the longest", "whsec_" + encoded(64), true},
		{"one byte short", "whsec_" + encoded(23), false},
		{"one byte long", "whsec_" + encoded(65), false},
		{"without its prefix", encoded(32), false},
		{"in the URL alphabet", "whsec_" + strings.ReplaceAll(encoded(32), "/", "_"), false},
		{"without padding", "whsec_" + strings.TrimRight(encoded(32), "="), false},
		{"empty", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := ParseSecret(row.in)
			if (err == nil) != row.ok {
				t.Fatalf("error %v", err)
			}
			if row.ok && s.Reveal() != row.in {
				t.Errorf("came back as %q", s.Reveal())
			}
		})
	}
	t.Run("a new one is 32 bytes and never the same", func(t *testing.T) {
		a, b := NewSecret(), NewSecret()
		if a == b || len(a.key) != 32 || mustSecret(t, a.Reveal()) != a {
			t.Error(a.Reveal(), b.Reveal())
		}
	})
	t.Run("is masked when printed by accident", func(t *testing.T) {
		k := Keys{Current: NewSecret()}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			out := fmt.Sprintf(verb, k)
			if strings.Contains(out, k.Current.key) || strings.Contains(out, k.Current.Reveal()) {
				t.Errorf("%s prints %s", verb, out)
			}
		}
	})
}
