package search

import "math/bits"

// The sizes of a signature in bytes of bits; every size is a power of two. The encoding has 4 bytes more.
const (
	MinSignature = 64
	MaxSignature = 2048
)

// header is what stands before the bits: the rules, and the code points read so far in 3 bytes, least first.
const header = 4

// Signature holds which words a task has, in a Bloom filter of three bits a word: what it denies is not there, what it
// grants may be. It is fed every message of a task in order, as each is written, and stored in between.
//
// The zero Signature knows nothing and grants everything, and so does one that was made under other Rules. Neither
// takes words; only a new one fed with the whole task does.
type Signature struct {
	reader reader
	bits   []byte // nil when it knows nothing
	stored []byte // the encoding of one that knows nothing, kept as it came
}

var _ Document = (*Signature)(nil)

// NewSignature returns the signature of a task without text. size is in bytes, a power of two from MinSignature to
// MaxSignature; it is a programming error if it isn't.
func NewSignature(size int) *Signature {
	checkSize(size)
	return &Signature{reader: reader{limit: TaskText}, bits: make([]byte, size)}
}

// ParseSignature reads what Bytes gave, and keeps and changes b. What Bytes never gave knows nothing.
func ParseSignature(b []byte) *Signature {
	size := len(b) - header
	if size < MinSignature || size > MaxSignature || size&(size-1) != 0 || b[0] != Rules {
		return &Signature{stored: b}
	}
	read := int(b[1]) | int(b[2])<<8 | int(b[3])<<16
	return &Signature{reader: reader{limit: TaskText, read: read}, bits: b[header:]}
}

// Bytes is the signature to be stored: Size bytes and 4 more.
func (s *Signature) Bytes() []byte {
	if s.bits == nil {
		return s.stored
	}
	n := s.reader.read
	return append([]byte{Rules, byte(n), byte(n >> 8), byte(n >> 16)}, s.bits...)
}

// Size is the number of bytes of bits, 0 for a signature that knows nothing.
func (s *Signature) Size() int { return len(s.bits) }

// Resize makes the signature smaller, by folding it in half as often as needed, or larger, by repeating it. It goes
// on taking words at its new size. Larger is no better for the words already in it, only for those to come.
// size is as for NewSignature. A signature that knows nothing stays so.
func (s *Signature) Resize(size int) {
	checkSize(size)
	if s.bits == nil {
		return
	}
	resized := make([]byte, size)
	for i := range max(size, len(s.bits)) {
		resized[i%size] |= s.bits[i%len(s.bits)]
	}
	s.bits = resized
}

// FalseRate estimates how likely a word that is not there is granted, 0 to 1: the share of bits set, cubed.
func (s *Signature) FalseRate() float64 {
	if s.bits == nil {
		return 1
	}
	set := 0
	for _, b := range s.bits {
		set += bits.OnesCount8(b)
	}
	fill := float64(set) / float64(8*len(s.bits))
	return fill * fill * fill
}

// Text takes a text part. See Document.
func (s *Signature) Text(text string) {
	if s.bits == nil || s.reader.spent() {
		s.cut(len(text))
		return
	}
	s.reader.each(text, s.word)
}

// Data takes a data part. See Document.
func (s *Signature) Data(json []byte) {
	if s.bits == nil {
		return
	}
	eachScalar(json, func(scalar string) bool {
		s.Text(scalar)
		return s.reader.read <= s.reader.limit
	})
}

// File takes a file part by its name. See Document.
func (s *Signature) File(name string) { s.Text(name) }

// cut remembers that text of n bytes was left out.
func (s *Signature) cut(n int) {
	if s.bits != nil && n > 0 {
		s.reader.read = s.reader.limit + 1
	}
}

func (s *Signature) word(key []byte) bool {
	set(s.bits, hash(key))
	return true
}

// MayHold is false only if the task doesn't have all words of the query within its first TaskText code points.
func (s *Signature) MayHold(q *Query) bool {
	if s.bits == nil {
		return true
	}
	for _, h := range q.hashes {
		if !has(s.bits, h) {
			return false
		}
	}
	return true
}

// MayHoldMessage is false only if no single message of the task has all words of the query, wherever it stands.
func (s *Signature) MayHoldMessage(q *Query) bool {
	return s.reader.read > s.reader.limit || s.MayHold(q)
}

func checkSize(size int) {
	if size < MinSignature || size > MaxSignature || size&(size-1) != 0 {
		panic("search: a signature has a power of two bytes, 64 to 2048")
	}
}

// A word's three bits are three stretches of 21 bits of its hash, of which the lower ones count: so halves can be laid
// over each other.
const stretch = 21

func set(bits []byte, h uint64) {
	mask := uint64(8*len(bits) - 1)
	for range 3 {
		at := h & mask
		bits[at/8] |= 1 << (at % 8)
		h >>= stretch
	}
}

func has(bits []byte, h uint64) bool {
	mask := uint64(8*len(bits) - 1)
	for range 3 {
		at := h & mask
		if bits[at/8]&(1<<(at%8)) == 0 {
			return false
		}
		h >>= stretch
	}
	return true
}

// hash is FNV-1a, mixed at the end (as MurmurHash3 does) because FNV's upper bits change little for short words. It
// stands in stored signatures: another hash is another Rules.
func hash(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
