package search

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// eachScalar calls yield with every key and scalar of a JSON text in document order, strings unescaped, everything
// else as written, until yield returns false. It checks nothing: what isn't JSON gives some strings, and ends.
func eachScalar(raw []byte, yield func(scalar string) bool) {
	json := string(raw) // one copy, of which the scalars are pieces
	var unescaped []byte
	for i := 0; i < len(json); {
		switch json[i] {
		case '{', '}', '[', ']', ':', ',', ' ', '\t', '\n', '\r':
			i++
		case '"':
			end, escaped := stringEnd(json, i+1)
			text := json[i+1 : end]
			if escaped {
				unescaped = appendUnescaped(unescaped[:0], text)
				text = string(unescaped)
			}
			if !yield(text) {
				return
			}
			i = end + 1
		default:
			end := strings.IndexAny(json[i:], "{}[]:,\" \t\n\r")
			if end < 0 {
				end = len(json) - i
			}
			if !yield(json[i : i+end]) {
				return
			}
			i += end
		}
	}
}

// stringEnd finds the quote that closes the string starting at i, or the end of the text.
func stringEnd(json string, i int) (end int, escaped bool) {
	for ; i < len(json); i++ {
		switch json[i] {
		case '"':
			return i, escaped
		case '\\':
			escaped = true
			i++
		}
	}
	return len(json), escaped
}

// appendUnescaped appends the contents of a JSON string. A lone surrogate becomes U+FFFD, a broken escape stays.
func appendUnescaped(to []byte, s string) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			to = append(to, c)
			i++
			continue
		}
		switch c = s[i+1]; c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, n := unescapedRune(s[i:])
			if n == 0 {
				to = append(to, '\\', 'u')
				i += 2
				continue
			}
			to = utf8.AppendRune(to, r)
			i += n
			continue
		}
		to = append(to, c)
		i += 2
	}
	return to
}

// unescapedRune reads \uXXXX, or two that make a surrogate pair, and says how many bytes it took; 0 for neither.
func unescapedRune(s string) (rune, int) {
	r, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex4(s[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(v), err == nil
}
