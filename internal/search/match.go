package search

// Matcher says whether a text has all that a query asks for. It reads the text part by part and need not be given
// more once Settled. It is for one goroutine.
type Matcher struct {
	query   *Query
	reader  reader
	seen    []bool // by number of the word
	met     []bool // by phrase
	at      []int  // by phrase: how many of its words just stood in a row
	missing int    // words and phrases
}

var _ Document = (*Matcher)(nil)

// Task matches the text of a task, of which the first TaskText code points count.
func (q *Query) Task() *Matcher { return q.matcher(TaskText) }

// Message matches a single message, all of it. Reset makes it ready for the next one.
func (q *Query) Message() *Matcher { return q.matcher(0) }

func (q *Query) matcher(limit int) *Matcher {
	m := &Matcher{
		query:  q,
		reader: reader{limit: limit},
		seen:   make([]bool, len(q.words)),
		met:    make([]bool, len(q.phrases)),
		at:     make([]int, len(q.phrases)),
	}
	m.Reset()
	return m
}

// Reset forgets the text read so far.
func (m *Matcher) Reset() {
	clear(m.seen)
	clear(m.met)
	m.reader.read = 0
	m.missing = len(m.seen) + len(m.met)
}

// Found says whether the text so far has everything.
func (m *Matcher) Found() bool { return m.missing == 0 }

// Settled says that more text won't change Found: it is found, or what follows doesn't count.
func (m *Matcher) Settled() bool { return m.missing == 0 || m.reader.spent() }

// Text takes a text part. See Document.
func (m *Matcher) Text(text string) {
	if m.Settled() {
		return
	}
	clear(m.at)
	m.reader.each(text, m.word)
}

// Data takes a data part. See Document.
func (m *Matcher) Data(json []byte) {
	if m.Settled() {
		return
	}
	clear(m.at)
	eachScalar(json, func(scalar string) bool {
		return m.reader.each(scalar, m.word) && !m.reader.spent()
	})
}

// File takes a file part by its name. See Document.
func (m *Matcher) File(name string) { m.Text(name) }

// word takes the next word of a part and says whether to go on.
func (m *Matcher) word(key []byte) bool {
	number, asked := m.query.words[string(key)]
	if !asked {
		clear(m.at)
		return true
	}
	if !m.seen[number] {
		m.seen[number] = true
		m.missing--
	}
	for i, p := range m.query.phrases {
		if m.met[i] {
			continue
		}
		k := m.at[i]
		for k > 0 && p.words[k] != number {
			k = p.fall[k]
		}
		if p.words[k] == number {
			k++
		}
		if k == len(p.words) {
			m.met[i], k = true, 0
			m.missing--
		}
		m.at[i] = k
	}
	return m.missing > 0
}
