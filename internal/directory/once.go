package directory

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"math/big"
	"time"

	"baton/internal/task"
)

// Once is a caller's own id for something that it makes (the header Idempotency-Key): making it again with the same id
// gives what the first time made, whatever else is said. Empty for none.
type Once string

// onceTells is for how long the secret of a key is told again: longer than anybody retries.
const onceTells = 24 * time.Hour

// mark is what is stored of an id, to know it again among an organization's.
func (o Once) mark(organization task.ID) string {
	if o == "" {
		return ""
	}
	h := sha256.New()
	h.Write([]byte("baton once 1\x00"))
	h.Write(organization[:])
	h.Write([]byte(o))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:15])
}

// organization is the id of the organization that is made with o.
func (o Once) organization() (id task.ID) {
	h := sha256.Sum256([]byte("baton organization once 1\x00" + o))
	copy(id[:], h[:])
	return id.Derived()
}

// Again makes the secret that belongs to a caller's own id: the same one each time, so that a retry can be told a secret
// of which only the hash is stored. Without the mint's own secret nobody can make it, whatever else is known.
func (m Mint) Again(kind Kind, organization task.ID, once Once) string {
	mac := hmac.New(sha256.New, m.stampKey)
	mac.Write([]byte("baton key once 1\x00" + string(kind) + "\x00"))
	mac.Write(organization[:])
	mac.Write([]byte(once))
	// Of 256 bits 190 are taken, so that no text is likelier than another by more than 2 to the minus 66th.
	body := prefixes[kind] + base62(new(big.Int).SetBytes(mac.Sum(nil)), randomLength)
	body += m.stamp(body)
	return body + checksum(body)
}

// told is a secret, while it may be told of a key made at that time.
func (s *Service) told(secret string, made time.Time) string {
	if s.clock().Sub(made) > onceTells {
		return ""
	}
	return secret
}
