package task

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// ID is a UUID: of a task, context, message, identity or organization. The zero ID stands for none.
type ID [16]byte

// NewID returns a random UUID (version 4).
func NewID() ID {
	var id ID
	rand.Read(id[:]) // never fails: crypto/rand ends the process instead
	return id.marked(4)
}

// SendID is the id of the task that a send with a message id makes: the same requester, worker and message
// id always give the same one (UUID version 8), so that a second send meets the first one's item.
func SendID(requester, worker ID, messageID string) ID {
	h := sha256.New()
	h.Write([]byte("baton send 1\x00"))
	h.Write(requester[:])
	h.Write(worker[:])
	h.Write([]byte(messageID))
	var id ID
	copy(id[:], h.Sum(nil))
	return id.marked(8)
}

// Derived marks an id that was made of something else, as SendID's are.
func (id ID) Derived() ID { return id.marked(8) }

func (id ID) marked(version byte) ID {
	id[6] = id[6]&0x0f | version<<4
	id[8] = id[8]&0x3f | 0x80
	return id
}

// ParseID reads the 36-character form of a UUID, in either case; ok is false for anything else.
func ParseID(s string) (id ID, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return ID{}, false
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return ID{}, false
	}
	return id, true
}

// GivenID is ParseID for what a caller names. The nil UUID is as well-formed as any and names nothing; but the zero ID
// stands for none here, which in a filter is as good as all, so it becomes the max UUID (RFC 9562, 5.10), which names
// nothing either.
func GivenID(s string) (id ID, ok bool) {
	if id, ok = ParseID(s); ok && id.IsZero() {
		for i := range id {
			id[i] = 0xff
		}
	}
	return id, ok
}

// String is the lower-case 36-character form.
func (id ID) String() string {
	var b [36]byte
	hex.Encode(b[:8], id[:4])
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:], id[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// IsZero says whether there is no id.
func (id ID) IsZero() bool { return id == ID{} }
