package searchtest

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Query is what is asked for, as a list of terms.
type Query []Term

// Term is some words, which have to stand in a row if they are quoted.
type Term struct {
	Text   string
	Quoted bool
}

// String is the query as a caller writes it.
func (q Query) String() string {
	var all []string
	for _, t := range q {
		if t.Quoted {
			all = append(all, ` "`+t.Text+`" `)
		} else {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, " ")
}

// HasWord says whether the query asks for anything.
func (q Query) HasWord() bool {
	return slices.ContainsFunc(q, func(t Term) bool { return len(wordsOf(t.Text)) > 0 })
}

// Finds says whether the messages together have what the query asks for, of their first limit code points, or of all
// if limit is 0.
func (q Query) Finds(messages []Message, limit int) bool {
	if limit == 0 {
		limit = 1 << 62
	}
	var parts [][]string
	for _, m := range messages {
		for _, p := range m {
			var has []string
			for _, text := range p.texts() {
				end := 0
				for it := words.FromString(text); it.Next(); {
					end += utf8.RuneCountInString(it.Value())
					if isWord(it.Value()) && end <= limit {
						has = append(has, key(it.Value()))
					}
				}
				limit -= end
			}
			parts = append(parts, has)
		}
	}
	for _, t := range q {
		asked := wordsOf(t.Text)
		rows := [][]string{asked}
		if !t.Quoted {
			rows = nil
			for _, w := range asked {
				rows = append(rows, []string{w})
			}
		}
		for _, row := range rows {
			if !slices.ContainsFunc(parts, func(has []string) bool { return hasRow(has, row) }) {
				return false
			}
		}
	}
	return true
}

func hasRow(has, row []string) bool {
	for i := 0; i+len(row) <= len(has); i++ {
		if slices.Equal(has[i:i+len(row)], row) {
			return true
		}
	}
	return false
}

// texts are the stretches of text in a part over whose ends no word reaches.
func (p Part) texts() []string {
	if p.Data != "" {
		return p.Scalars
	}
	return []string{p.Text + p.File}
}

// words are the words of a part as they are written.
func (p Part) words() (all []string) {
	for _, text := range p.texts() {
		for it := words.FromString(text); it.Next(); {
			if isWord(it.Value()) {
				all = append(all, it.Value())
			}
		}
	}
	return all
}

func wordsOf(text string) (keys []string) {
	for _, w := range (Part{Text: text}).words() {
		keys = append(keys, key(w))
	}
	return keys
}

func isWord(segment string) bool {
	return strings.ContainsFunc(segment, unicode.IsLetter) || strings.ContainsFunc(segment, unicode.IsNumber)
}

// key is what the Unicode Standard compares by in a compatibility caseless match (section 3.13, D146).
func key(word string) string {
	return norm.NFKD.String(Fold(norm.NFKD.String(Fold(norm.NFD.String(word)))))
}

// Fold is full case folding. Cherokee is done by hand, since golang.org/x/text v0.44 folds its small letters to capitals,
// as Unicode says, but the capitals to small letters too.
func Fold(s string) string {
	fold := cases.Fold()
	var b strings.Builder
	for s != "" {
		at := strings.IndexFunc(s, func(r rune) bool { return unicode.Is(unicode.Cherokee, r) })
		if at < 0 {
			at = len(s)
		}
		b.WriteString(fold.String(s[:at]))
		if r, n := utf8.DecodeRuneInString(s[at:]); n > 0 {
			b.WriteRune(unicode.ToUpper(r))
			at += n
		}
		s = s[at:]
	}
	return b.String()
}
