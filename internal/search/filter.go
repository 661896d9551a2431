package search

import "math/bits"

// filter is a Bloom filter of three bits a word, of any size of 8 bytes or more. A word's bit is where the lower bits of
// its hash say, as many as count every bit of the filter; where that is behind its end, the highest of them is left out.
// So a filter can be cut shorter at any place, by laying what is cut off over what the bits without the highest say, and
// is then the one that it would have been from the start.
type filter []byte

// A word's three bits are three stretches of 21 bits of its hash.
const stretch = 21

func (f filter) place(h uint64) uint64 {
	n := uint64(8 * len(f))
	half := uint64(1) << (bits.Len64(n-1) - 1)
	at := h & (2*half - 1)
	if at >= n {
		at -= half
	}
	return at
}

func (f filter) set(h uint64) {
	for range 3 {
		at := f.place(h)
		f[at/8] |= 1 << (at % 8)
		h >>= stretch
	}
}

func (f filter) has(h uint64) bool {
	for range 3 {
		at := f.place(h)
		if f[at/8]&(1<<(at%8)) == 0 {
			return false
		}
		h >>= stretch
	}
	return true
}

// hasAll says whether all the words may be there.
func (f filter) hasAll(hashes []uint64) bool {
	for _, h := range hashes {
		if !f.has(h) {
			return false
		}
	}
	return true
}

// cut returns the filter with fewer bytes, and may change f.
func (f filter) cut(size int) filter {
	for len(f) > size {
		half := 1 << (bits.Len(uint(len(f)-1)) - 1)
		to := max(half, size)
		for i := to; i < len(f); i++ {
			f[i-half] |= f[i]
		}
		f = f[:to]
	}
	return f
}

// share is how many of the bits are set, 0 to 1. A word that is not there is granted about as often as its cube says.
func (f filter) share() float64 {
	set := 0
	for _, b := range f {
		set += bits.OnesCount8(b)
	}
	return float64(set) / float64(8*len(f))
}

// hash is FNV-1a, mixed at the end (as MurmurHash3 does) because FNV's upper bits change little for short words. It
// stands in stored signatures: another hash is another Rules.
func hash(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return mixed(h)
}

func mixed(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
