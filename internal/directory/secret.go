package directory

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"hash/crc32"
	"math/big"
	"strings"
)

// A key's secret reads
//
//	btk_agent_ + 32 random characters + 8 characters of stamp + 6 characters of checksum
//
// in base62: 190 bits that nobody can guess. The checksum is the CRC-32 of all before it, so that whoever finds such a
// text, a scanner of repositories for instance, can tell it from garbage without knowing anything of us. The stamp is
// a MAC of all before it under a secret of the deployment: only we can make a text that we look up at all, so that a
// flood of made-up keys, checksum and all, costs no read. It is no part of the proof: that is the random part, whose
// SHA-256 alone is stored. (Again makes them so that a retry finds them again.)
const (
	randomLength   = 32
	stampLength    = 8
	checksumLength = 6
)

var prefixes = map[Kind]string{Agent: "btk_agent_", Org: "btk_org_", Operator: "btk_operator_"}

// Mint makes the secrets of keys and knows its own. Safe for concurrent use.
type Mint struct{ stampKey []byte }

// NewMint returns a mint with the deployment's stamp secret. With another one, all keys made before are garbage.
func NewMint(stampSecret string) Mint { return Mint{[]byte(stampSecret)} }

// New makes a secret; nobody made it before.
func (m Mint) New(kind Kind) string {
	body := prefixes[kind] + randomText(randomLength)
	body += m.stamp(body)
	return body + checksum(body)
}

// Check says of which kind a secret is; ok is false for one that this mint did not make. It takes the same time for
// every secret of a length that is wrong only in its stamp.
func (m Mint) Check(secret string) (kind Kind, ok bool) {
	for k, prefix := range prefixes {
		if strings.HasPrefix(secret, prefix) && len(secret) == len(prefix)+randomLength+stampLength+checksumLength {
			kind, ok = k, true
		}
	}
	if !ok {
		return "", false
	}
	body, sum := secret[:len(secret)-checksumLength], secret[len(secret)-checksumLength:]
	if checksum(body) != sum {
		return "", false
	}
	body, stamp := body[:len(body)-stampLength], body[len(body)-stampLength:]
	if subtle.ConstantTimeCompare([]byte(m.stamp(body)), []byte(stamp)) == 0 {
		return "", false
	}
	return kind, true
}

// Hash is what is stored of a secret.
type Hash [sha256.Size]byte

// NewHash returns the hash of a secret.
func NewHash(secret string) Hash { return sha256.Sum256([]byte(secret)) }

// Hint is the beginning of a secret, by which its owner may recognise a key in a list: the prefix and four characters.
func Hint(secret string) string {
	for _, prefix := range prefixes {
		if strings.HasPrefix(secret, prefix) && len(secret) >= len(prefix)+4 {
			return secret[:len(prefix)+4]
		}
	}
	return ""
}

func (m Mint) stamp(body string) string {
	mac := hmac.New(sha256.New, m.stampKey)
	mac.Write([]byte(body))
	return base62(new(big.Int).SetBytes(mac.Sum(nil)), stampLength)
}

func checksum(body string) string {
	return base62(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(body)))), checksumLength)
}

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// base62 is the lowest n digits of v, the highest first.
func base62(v *big.Int, n int) string {
	text := make([]byte, n)
	base, digit := big.NewInt(int64(len(digits))), new(big.Int)
	for i := n - 1; i >= 0; i-- {
		v.DivMod(v, base, digit)
		text[i] = digits[digit.Int64()]
	}
	return string(text)
}

// randomText is n random base62 characters, each as likely as any other.
func randomText(n int) string {
	text := make([]byte, 0, n)
	var buffer [64]byte
	for len(text) < n {
		rand.Read(buffer[:]) // never fails: crypto/rand ends the process instead
		for _, b := range buffer {
			if b &= 63; int(b) < len(digits) && len(text) < n {
				text = append(text, digits[b])
			}
		}
	}
	return string(text)
}
