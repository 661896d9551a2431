package search

import (
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/unicode/norm"
)

// Rules numbers what this package takes a word to be, and how a signature places it. Stored signatures carry it.
// It grows with every change, also when a newer Unicode comes with a library or with Go: a test notices.
const Rules = 2

// reader cuts texts into words: the UAX #29 segments that have a letter or a number (general categories L and N), each
// as its key. It keeps its buffers, so one reader serves many texts, one after the other.
type reader struct {
	limit int // code points that count in all; 0 is no limit
	read  int // code points so far; limit+1 once a word was left out
	key   []byte
	tmp   []byte
}

// spent says that nothing that follows counts any more.
func (r *reader) spent() bool { return r.limit > 0 && r.read >= r.limit }

// each calls yield with the key of every word of text, until yield returns false, which each then returns too. The
// key is only good until yield returns.
func (r *reader) each(text string, yield func(key []byte) bool) bool {
	if r.limit > 0 && len(text) > r.limit-r.read {
		return r.eachCounted(text, yield)
	}
	if r.limit > 0 {
		r.read += utf8.RuneCountInString(text)
	}
	for it := words.FromString(text); it.Next(); {
		if w := it.Value(); isWord(w) && !yield(r.keyOf(w)) {
			return false
		}
	}
	return true
}

// eachUnlessSpent is each, and remembers that text was left out where nothing counts any more.
func (r *reader) eachUnlessSpent(text string, yield func(key []byte) bool) {
	switch {
	case !r.spent():
		r.each(text, yield)
	case text != "":
		r.read = r.limit + 1
	}
}

// eachOf is eachUnlessSpent for the keys and scalars of data.
func (r *reader) eachOf(json []byte, yield func(key []byte) bool) {
	eachScalar(json, func(scalar string) bool {
		r.eachUnlessSpent(scalar, yield)
		return r.limit == 0 || r.read <= r.limit
	})
}

// eachCounted is each for a text that may reach beyond the limit.
func (r *reader) eachCounted(text string, yield func(key []byte) bool) bool {
	for it := words.FromString(text); it.Next(); {
		if r.read >= r.limit {
			r.read = r.limit + 1
			return true
		}
		w := it.Value()
		if r.read += utf8.RuneCountInString(w); r.read > r.limit {
			r.read = r.limit + 1
			return true
		}
		if isWord(w) && !yield(r.keyOf(w)) {
			return false
		}
	}
	return true
}

func isWord(segment string) bool {
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		if c >= utf8.RuneSelf {
			for _, r := range segment[i:] {
				if unicode.IsLetter(r) || unicode.IsNumber(r) {
					return true
				}
			}
			return false
		}
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			return true
		}
	}
	return false
}

// keyOf is what a word is compared by: NFKC(fold(NFKD(word))), where fold is full case folding. Decomposing before
// folding makes the result the same for every way to write the word, and composing last makes it stable: the key of
// a key is itself.
func (r *reader) keyOf(word string) []byte {
	r.key = r.key[:0]
	for i := 0; i < len(word); i++ {
		c := word[i]
		if c >= utf8.RuneSelf {
			return r.keyOfLetters(word)
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		r.key = append(r.key, c)
	}
	return r.key
}

// keyOfLetters is a short way for words made of nothing but common letters, ten times as fast.
func (r *reader) keyOfLetters(word string) []byte {
	r.key = r.key[:0]
	for _, c := range word {
		if c == 'ß' {
			r.key = append(r.key, "ss"...)
			continue
		}
		c, ok := common(c)
		if !ok {
			return r.keyOfUnicode(word)
		}
		r.key = utf8.AppendRune(r.key, c)
	}
	return r.key
}

// common gives the key of a code point which has one code point as its key, whatever common ones stand around it.
func common(c rune) (rune, bool) {
	switch {
	case c < utf8.RuneSelf:
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
	case 'À' <= c && c <= 'Þ' && c != '×', 'А' <= c && c <= 'Я':
		c += 0x20
	case 'Ѐ' <= c && c <= 'Џ':
		c += 0x50
	case 'Ā' <= c && c <= 'ž' && c != 'İ' && c != 'Ĳ' && c != 'ĳ' && c != 'Ŀ' && c != 'ŀ' && c != 'ŉ':
		c = unicode.ToLower(c)
	case 'Έ' <= c && c <= 'ώ':
		if c == 'ς' {
			c = 'σ'
		}
		c = unicode.ToLower(c)
	case 'à' <= c && c <= 'ÿ', 'а' <= c && c <= 'џ', // Latin, Cyrillic
		'א' <= c && c <= 'ת', 'ء' <= c && c <= 'غ', 'ف' <= c && c <= 'ي', // Hebrew, Arabic
		'ぁ' <= c && c <= 'ゖ', 'ァ' <= c && c <= 'ー', // Hiragana, Katakana
		0x4E00 <= c && c <= 0x9FFF, 0xAC00 <= c && c <= 0xD7A3: // ideographs, Hangul
	default:
		return 0, false
	}
	return c, true
}

func (r *reader) keyOfUnicode(word string) []byte {
	r.key = norm.NFKD.AppendString(r.key[:0], word)
	r.tmp = r.tmp[:0]
	for i := 0; i < len(r.key); {
		c, n := utf8.DecodeRune(r.key[i:])
		if c == utf8.RuneError && n <= 1 {
			r.tmp = append(r.tmp, r.key[i]) // invalid UTF-8 stays as it is, and equals only itself
		} else {
			r.tmp = appendFolded(r.tmp, c)
		}
		i += n
	}
	r.key = norm.NFKC.Append(r.key[:0], r.tmp...)
	return r.key
}

// appendFolded appends the full case folding of a code point that NFKD leaves as it is. Of the foldings to several
// code points only that of sharp s is left then, and the rest is the standard library's case mapping with three
// exceptions. A test compares every code point with golang.org/x/text/cases, which would cost each function 430 KB
// and 0.15 ms of start.
func appendFolded(to []byte, c rune) []byte {
	switch {
	case c == 'ß' || c == 'ẞ':
		return append(to, "ss"...)
	case c == 'ı': // only folds to i in Turkish
	case 0x13A0 <= c && c <= 0x13F5: // Cherokee folds to its capitals, which are the older letters
	case 0x13F8 <= c && c <= 0x13FD:
		c -= 8
	case 0xAB70 <= c && c <= 0xABBF:
		c += 0x13A0 - 0xAB70
	default:
		c = unicode.ToLower(unicode.ToUpper(c))
	}
	return utf8.AppendRune(to, c)
}
