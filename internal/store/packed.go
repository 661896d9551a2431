package store

import (
	"encoding/binary"
	"time"

	"baton/internal/task"
)

// packer and unpacker write and read the one binary attribute that holds all of an item's small fields: names and
// types of single attributes would cost more bytes than what they hold.
type packer []byte

func (p *packer) uint(width int, v uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v)
	*p = append(*p, b[8-width:]...)
}

func (p *packer) id(id task.ID) { *p = append(*p, id[:]...) }

// time is in milliseconds, 0 for none.
func (p *packer) time(t time.Time) {
	if t.IsZero() {
		p.uint(6, 0)
		return
	}
	p.uint(6, uint64(t.UnixMilli()))
}

type unpacker struct {
	b     []byte
	short bool // there was less than was read
}

func (u *unpacker) take(n int) []byte {
	if len(u.b) < n {
		u.short = true
		return make([]byte, n)
	}
	out := u.b[:n]
	u.b = u.b[n:]
	return out
}

func (u *unpacker) uint(width int) uint64 {
	var b [8]byte
	copy(b[8-width:], u.take(width))
	return binary.BigEndian.Uint64(b[:])
}

func (u *unpacker) id() task.ID { return task.ID(u.take(16)) }

func (u *unpacker) time() time.Time {
	ms := u.uint(6)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// flags are bits that are on, the first one the lowest.
func flags(on ...bool) (bits uint64) {
	for i, b := range on {
		if b {
			bits |= 1 << i
		}
	}
	return bits
}
