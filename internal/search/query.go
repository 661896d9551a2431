package search

import (
	"errors"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
)

// MaxQuery is how many code points a query may have; the least is 1 (contract section 3).
const MaxQuery = 500

// What a query can be refused for. Both are the caller's mistake.
var (
	ErrQueryLength  = errors.New("must have 1 to 500 characters")
	ErrQueryNoWords = errors.New("must have a word: something with a letter or a digit")
)

// Query is what a text must have: every word somewhere, and the words of every phrase in a row inside one part. It is
// not changed after ParseQuery, so it may be used concurrently.
type Query struct {
	words   map[string]int // key to its number
	hashes  []uint64       // of the keys
	phrases []phrase       // those of two words or more
}

// phrase is the words of a phrase, by number, and for each how many of the words before it are tried next where it
// doesn't fit (the failure function of Knuth, Morris and Pratt).
type phrase struct {
	words []int
	fall  []int
}

// ParseQuery reads q. It is cut into words like any text: `wi-fi` asks for `wi` and for `fi`, wherever they stand, and
// so does a run of ideographs for each of them; quoted, they have to stand in a row. A quote mark (U+0022) opens a
// phrase, the next one closes it, and a phrase still open runs to the end. One that UAX #29 counts into a word, between
// two Hebrew letters, is no quote mark but a gershayim. The error is ErrQueryLength or ErrQueryNoWords.
func ParseQuery(q string) (*Query, error) {
	if n := utf8.RuneCountInString(q); n < 1 || n > MaxQuery {
		return nil, ErrQueryLength
	}
	query := &Query{words: make(map[string]int)}
	var r reader
	var quoted []int
	open := false
	for it := words.FromString(q); it.Next(); {
		w := it.Value()
		switch {
		case w[0] == '"':
			query.addPhrase(quoted)
			quoted, open = nil, !open
		case isWord(w):
			number := query.addWord(r.keyOf(w))
			if open {
				quoted = append(quoted, number)
			}
		}
	}
	query.addPhrase(quoted)
	if len(query.words) == 0 {
		return nil, ErrQueryNoWords
	}
	return query, nil
}

func (q *Query) addWord(key []byte) int {
	number, known := q.words[string(key)]
	if !known {
		number = len(q.words)
		q.words[string(key)] = number
		q.hashes = append(q.hashes, hash(key))
	}
	return number
}

func (q *Query) addPhrase(numbers []int) {
	if len(numbers) < 2 {
		return
	}
	fall := make([]int, len(numbers))
	for i, k := 1, 0; i < len(numbers); i++ {
		fall[i] = k
		for k > 0 && numbers[i] != numbers[k] {
			k = fall[k]
		}
		if numbers[i] == numbers[k] {
			k++
		}
	}
	q.phrases = append(q.phrases, phrase{numbers, fall})
}
