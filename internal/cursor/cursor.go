// Package cursor seals the position where a page of a list ended, so that whoever holds it can neither read nor change
// it, nor use it for another caller, route or set of filters (contract section 3).
package cursor

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"time"
)

// ErrInvalid says that a text is no cursor of ours, or not of this list.
var ErrInvalid = errors.New("cursor: not one of this list")

// Sealer makes cursors and opens them. Safe for concurrent use.
type Sealer struct {
	keys []cipher.AEAD // the first one seals, any opens
	now  func() time.Time
}

// skew is how far the clocks of two functions may be apart: more than they ever are, since a walk that breaks off would be
// all that a smaller one brings.
const skew = 15 * time.Minute

// New returns a sealer with the secrets in the given text, separated by commas: the first one seals, and the others
// still open, so that a rotation breaks no walk that is under way. It must have one.
func New(secrets string, now func() time.Time) *Sealer {
	s := &Sealer{now: now}
	for secret := range strings.SplitSeq(secrets, ",") {
		if secret = strings.TrimSpace(secret); secret == "" {
			continue // anybody could seal with none
		}
		key := sha256.Sum256([]byte("baton cursor 1\x00" + secret))
		block, _ := aes.NewCipher(key[:]) // fails only for another length of key
		sealer, _ := cipher.NewGCM(block) // fails only for another block size
		s.keys = append(s.keys, sealer)
	}
	return s
}

// Seal returns a text of about 75 characters for a position of 24 bytes. list is all that the cursor is bound to.
func (s *Sealer) Seal(position []byte, list string) string {
	nonce := make([]byte, s.keys[0].NonceSize())
	rand.Read(nonce) // never fails: crypto/rand ends the process instead
	plain := binary.BigEndian.AppendUint32(nil, uint32(s.now().Unix()))
	sealed := s.keys[0].Seal(nonce, nonce, append(plain, position...), []byte(list))
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// Open returns the position, or ErrInvalid.
func (s *Sealer) Open(text, list string) ([]byte, error) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, ErrInvalid
	}
	for _, key := range s.keys {
		if len(sealed) < key.NonceSize() {
			return nil, ErrInvalid
		}
		plain, err := key.Open(nil, sealed[:key.NonceSize()], sealed[key.NonceSize():], []byte(list))
		if err != nil || len(plain) < 4 {
			continue
		}
		made := time.Unix(int64(binary.BigEndian.Uint32(plain)), 0)
		if made.After(s.now().Add(skew)) {
			return nil, ErrInvalid
		}
		return plain[4:], nil
	}
	return nil, ErrInvalid
}
