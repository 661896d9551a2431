package search

// LeastSignature is the least size of a signature that is worth keeping, in bytes of bits. The encoding has header more.
const LeastSignature = 64

// header is what stands before the bits of a signature: the rules, how many bytes of the bits are for the recent words,
// the code points read so far and the number up to which the words are archived, in three bytes each.
const header = 1 + 1 + 3 + 3

// Signature holds which words a task has, so that most tasks without a word are told apart by what a list reads anyway.
// What it denies is not there, what it grants may be. It is fed every message of a task in order, as each is written,
// and stored in between.
//
// It has two filters: one of all words, and a small one of the recent ones, those that no Archive has yet. A short task
// has none, and both filters judge it. What is granted of a long one is looked up in its archive next: what that denies
// must be among the recent words (see Rest).
//
// The zero Signature knows nothing and grants everything, and so does one that was made under other Rules. Neither
// takes words before it is Archived.
type Signature struct {
	reader   reader
	all      filter // nil when it knows nothing
	recent   filter
	archived int
}

var _ Document = (*Signature)(nil)

// NewSignature returns the signature of a task without text, of a size in bytes, at least LeastSignature.
func NewSignature(size int) *Signature {
	recent := recentOf(size)
	return &Signature{reader: reader{limit: TaskText}, all: make(filter, size-recent), recent: make(filter, recent)}
}

// recentOf is how many bytes of a signature's size are for the recent words. Ten messages of 25 words have some 150 that
// differ: then 128 bytes grant 4 % of the words that are not there, and 2 % on average on the way. Beyond them the
// words of the whole task need the room more.
func recentOf(size int) int { return min(128, size*3/10) }

// ParseSignature reads what Bytes gave, and keeps and changes b. What Bytes never gave knows nothing.
func ParseSignature(b []byte) *Signature {
	if len(b) < header || b[0] != Rules {
		return &Signature{}
	}
	of, recent := b[header:], int(b[1])
	if len(of) < LeastSignature || recent != recentOf(len(of)) {
		return &Signature{}
	}
	return &Signature{
		reader: reader{limit: TaskText, read: uint24(b[2:])}, archived: uint24(b[5:]),
		all: filter(of[:len(of)-recent]), recent: filter(of[len(of)-recent:]),
	}
}

// Bytes is the signature to be stored: nothing of one that knows nothing.
func (s *Signature) Bytes() []byte {
	if s.all == nil {
		return nil
	}
	b := appendUint24([]byte{Rules, byte(len(s.recent))}, s.reader.read)
	b = appendUint24(b, s.archived)
	return append(append(b, s.all...), s.recent...)
}

// Size is the number of bytes of bits, 0 for a signature that knows nothing.
func (s *Signature) Size() int { return len(s.all) + len(s.recent) }

// Shrink makes the signature not larger than a size, at least LeastSignature. What it holds is granted more words then.
func (s *Signature) Shrink(size int) {
	recent := recentOf(size)
	if s.all != nil && size < s.Size() {
		s.all, s.recent = s.all.cut(size-recent), s.recent.cut(recent)
	}
}

// full is the share of the recent words' bits at which they are to be archived: 4 % of other words look recent then.
const full = 1. / 3

// Full says that the recent words should go to the archive, as all words should when the signature knows nothing.
// Where no more text counts it is never full.
func (s *Signature) Full() bool {
	return s.all == nil || !s.reader.spent() && s.recent.share() > full
}

// Spent says that no more of the task's text counts.
func (s *Signature) Spent() bool { return s.all != nil && s.reader.spent() }

// Archived is the number up to which an archive has the words, 0 when there is none.
func (s *Signature) Archived() int { return s.archived }

// Archive starts the signature anew, at a size as for NewSignature: all its words are those of an archive that has the
// same text, and none is recent.
func (s *Signature) Archive(a *Archive, size int) {
	fresh := NewSignature(size)
	fresh.all = append(filter(nil), a.words...).cut(len(fresh.all))
	fresh.reader.read = max(s.reader.read, a.reader.read)
	fresh.archived = a.Number
	*s = *fresh
}

// Text takes a text part. See Document.
func (s *Signature) Text(text string) {
	if s.all != nil {
		s.reader.eachUnlessSpent(text, s.word)
	}
}

// Data takes a data part. See Document.
func (s *Signature) Data(json []byte) {
	if s.all != nil {
		s.reader.eachOf(json, s.word)
	}
}

// File takes a file part by its name. See Document.
func (s *Signature) File(name string) { s.Text(name) }

func (s *Signature) word(key []byte) bool {
	h := hash(key)
	s.all.set(h)
	s.recent.set(recently(h))
	return true
}

// recently is the hash of a word among the recent ones: another, so that each filter says something of its own.
func recently(h uint64) uint64 { return mixed(h + 0x9e3779b97f4a7c15) }

// MayHold is false only if the task doesn't have all words of the query within its first TaskText code points.
func (s *Signature) MayHold(q *Query) bool {
	if s.all == nil {
		return true
	}
	if !s.all.hasAll(q.hashes) {
		return false
	}
	for _, h := range q.hashes {
		if s.archived == 0 && !s.recent.has(recently(h)) {
			return false
		}
	}
	return true
}

// MayHoldMessage is false only if no single message of the task has all words of the query, wherever it stands.
func (s *Signature) MayHoldMessage(q *Query) bool {
	return s.reader.read > s.reader.limit || s.MayHold(q)
}

// Rest looks the query up in the task's archive, a newer one than the signature's too. rest are the words that stand in
// no change up to the archive's number, nil for none; some of them stand behind it, or the task doesn't have them
// within its first TaskText code points. may is false where it is known that it doesn't.
func (s *Signature) Rest(q *Query, a *Archive) (rest *Query, may bool) {
	if s.all == nil || a.words == nil || a.Number < s.archived {
		return nil, true
	}
	for key, number := range q.words {
		h := q.hashes[number]
		if a.words.has(h) {
			continue
		}
		if !s.recent.has(recently(h)) {
			return nil, false
		}
		if rest == nil {
			rest = &Query{words: map[string]int{}}
		}
		rest.addWord([]byte(key))
	}
	return rest, true
}

// RestMessage is Rest for a query that a single message must have: where rest is not nil, one behind the archive's
// number.
func (s *Signature) RestMessage(q *Query, a *Archive) (rest *Query, may bool) {
	if s.reader.read > s.reader.limit {
		return nil, true
	}
	return s.Rest(q, a)
}

func uint24(b []byte) int {
	return int(b[0])<<16 | int(b[1])<<8 | int(b[2])
}

func appendUint24(b []byte, n int) []byte {
	return append(b, byte(n>>16), byte(n>>8), byte(n))
}

// ArchiveSize is the length of every archive's Bytes. 3,000 bytes grant 0.5 % of the words that are not there at 1,500
// words, as 200 messages of 25 have that differ, and 3 % at 3,000.
const ArchiveSize = archiveHeader + 3000

const archiveHeader = 1 + 3 + 3

// Archive holds the words of a task's changes up to a number, in a filter that is too large for a head. It is fed like
// a Signature.
type Archive struct {
	Number int

	reader reader
	words  filter // nil when it knows nothing
}

var _ Document = (*Archive)(nil)

// NewArchive returns the archive of no changes.
func NewArchive() *Archive {
	return &Archive{reader: reader{limit: TaskText}, words: make(filter, ArchiveSize-archiveHeader)}
}

// ParseArchive reads what Bytes gave, and keeps and changes b. It is false for what Bytes never gave and what was made
// under other Rules: that archive knows nothing, and takes no words.
func ParseArchive(b []byte) (*Archive, bool) {
	if len(b) != ArchiveSize || b[0] != Rules {
		return &Archive{}, false
	}
	return &Archive{
		Number: uint24(b[4:]), reader: reader{limit: TaskText, read: uint24(b[1:])}, words: filter(b[archiveHeader:]),
	}, true
}

// Bytes is the archive to be stored, of an archive that takes words.
func (a *Archive) Bytes() []byte {
	b := appendUint24([]byte{Rules}, a.reader.read)
	b = appendUint24(b, a.Number)
	return append(b, a.words...)
}

// Text takes a text part. See Document.
func (a *Archive) Text(text string) {
	if a.words != nil {
		a.reader.eachUnlessSpent(text, a.word)
	}
}

// Data takes a data part. See Document.
func (a *Archive) Data(json []byte) {
	if a.words != nil {
		a.reader.eachOf(json, a.word)
	}
}

// File takes a file part by its name. See Document.
func (a *Archive) File(name string) { a.Text(name) }

func (a *Archive) word(key []byte) bool {
	a.words.set(hash(key))
	return true
}
