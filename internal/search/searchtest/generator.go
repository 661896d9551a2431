package searchtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Part is a text part (Text), a data part (Data, with the keys and scalars that it was made of), or a file part
// (File, its name): exactly one is set.
type Part struct {
	Text    string
	Data    string // JSON
	Scalars []string
	File    string
}

// Message is the parts of one message.
type Message []Part

// Generator makes the same messages and queries for the same seed. It is for one goroutine.
type Generator struct{ rand *rand.Rand }

// New returns a generator.
func New(seed uint64) *Generator { return &Generator{rand.New(rand.NewPCG(seed, 4))} }

// stems are what words are made of. Few, so that queries find something, and many of them differ only in case, width,
// composition or a letter, so that they find the right thing.
var stems = []string{
	"refund", "refunded", "refunds", "order", "orderId", "4182", "41820", "4183", "418", "-1.5e3", "1,000.25", "3.14",
	"a", "I", "can't", "can’t", "cant", "don't", "wi-fi", "wifi", "snake_case", "snake", "case", "_", "__init__", "a.b",
	"example.com", "a@b.com", "C++", "R2D2", "x²", "½", "①", "Ⅷ", "Ⓐ", "№", "true", "null",
	"Straße", "STRASSE", "ſtraſſe", "GROẞ", "gross", "Größe", "Grösse", "Müller", "Muller", "naïve", "Ångström", "café",
	"ﬁnal", "final", "eﬃcient", "ŉ", "n", "ǰ", "Ǆ", "ǆ", "ĳs", "µm", "μm", "K", "ｶﾞ", "ガ", "Ｆｕｌｌ", "full", "１２３", "123",
	"İstanbul", "istanbul", "Istanbul", "ısı", "isi", "ΟΔΟΣ", "οδος", "οδοσ", "ΐ", "ᾳ", "ΑΙ", "ᾼ", "Ὀδυσσεύς",
	"Привет", "привет", "ёж", "еж", "й", "Ꭰ", "ꭰ", "ᏸ", "և", "եւ", "ქართული", "ᲥᲐᲠᲗᲣᲚᲘ",
	"שלום", "צה\"ל", "צה״ל", "ב'", "مرحبا", "سلام", "ﷺ", "١٢٣", "हिन्दी", "क्ष", "தமிழ்", "ไทย", "ລາວ", "ខ្មែរ",
	"東京", "京都", "東", "日本語", "カタカナ", "ひらがな", "한국어", "한", "豈", "𠮷", "𝐀𝐁", "𝟙",
	"🙂", "👩‍👩‍👧", "🇩🇪", "🇩🇪🇫🇷", "1️⃣", "❤️", "é", "e\u0301\u0323", "a\u0345\u0301", "\u0301", "\u200d", "x\u200dy", "co\u00adop",
	"\u202eabc", "\u2060", "\ufeff", "ᄒ", "\u0378", "\U000e0001",
}

var gaps = []string{
	" ", " ", " ", " ", " ", " ", ", ", ". ", "\n", "\r\n", "-", "_", "'", "’", ".", ",", "/", ":", "@", " - ", "\"", " \"",
	"\t", "\u00a0", "\u200b", "\u200d", "\u0301", "\u3000", "・", "，", "", "\x00", "(", ") ", "\u2028", "·", "״",
}

// word gives one word, written in a random way; the first stems are the commonest.
func (g *Generator) word() string {
	w := stems[int(float64(len(stems))*g.rand.Float64()*g.rand.Float64())]
	if g.rand.IntN(3) == 0 {
		w = stems[g.rand.IntN(len(stems))]
	}
	switch g.rand.IntN(12) {
	case 0:
		return strings.ToUpper(w)
	case 1:
		return strings.ToLower(w)
	case 2:
		return norm.NFD.String(w)
	case 3:
		return norm.NFC.String(w)
	case 4:
		return norm.NFKD.String(w)
	case 5:
		return strings.Map(wide, w)
	case 6:
		return strings.ToTitle(w)
	}
	return w
}

// wide gives the full-width form of a letter or digit of ASCII.
func wide(r rune) rune {
	if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return r + 0xFEE0
	}
	return r
}

// Text gives a text of up to n words, at least one character long.
func (g *Generator) Text(n int) string {
	var b strings.Builder
	b.WriteString(g.word())
	for range g.rand.IntN(n) {
		b.WriteString(gaps[g.rand.IntN(len(gaps))])
		b.WriteString(g.word())
	}
	return b.String()
}

// Part gives a part of any kind.
func (g *Generator) Part() Part {
	switch g.rand.IntN(6) {
	case 0:
		return Part{File: strings.Map(noControl, g.word()+"."+g.word())}
	case 1, 2:
		p := Part{}
		p.Data = g.value(&p.Scalars, 0)
		return p
	}
	return Part{Text: g.Text(20)}
}

// noControl keeps a name free of what a service may refuse in one.
func noControl(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// Message gives a message of one to four parts.
func (g *Generator) Message() Message {
	m := Message{g.Part()}
	for g.rand.IntN(3) == 0 && len(m) < 4 {
		m = append(m, g.Part())
	}
	return m
}

// value writes a JSON value and notes its keys and scalars.
func (g *Generator) value(scalars *[]string, depth int) string {
	kind := g.rand.IntN(7)
	if depth == 4 {
		kind %= 5
	}
	switch kind {
	case 0, 1:
		return g.quoted(scalars, g.Text(4))
	case 2:
		s := []string{"true", "false", "null"}[g.rand.IntN(3)]
		*scalars = append(*scalars, s)
		return s
	case 3, 4:
		s := []string{"4182", "41820", "-4182", "1.5", "1.50", "-0", "1e3", "1E+3", "4183", "12345678901234567890.1234567890", "0"}[g.rand.IntN(11)]
		*scalars = append(*scalars, s)
		return s
	}
	open, end := "[", "]"
	if kind == 5 {
		open, end = "{", "}"
	}
	var items []string
	for i := range g.rand.IntN(4) {
		item := ""
		if kind == 5 {
			// A key of an object stands only once in it.
			item = g.quoted(scalars, fmt.Sprintf("%s %d", g.word(), i)) + g.space() + ":" + g.space()
		}
		items = append(items, g.space()+item+g.value(scalars, depth+1)+g.space())
	}
	return open + strings.Join(items, ",") + end
}

func (g *Generator) space() string {
	return []string{"", "", "", " ", "\n\t"}[g.rand.IntN(5)]
}

// quoted writes a JSON string with every kind of escape.
func (g *Generator) quoted(scalars *[]string, s string) string {
	*scalars = append(*scalars, s)
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '"' || r == '\\' || r == '/' && g.rand.IntN(2) == 0:
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || g.rand.IntN(8) == 0:
			if r > 0xFFFF {
				r -= 0x10000
				fmt.Fprintf(&b, `\u%04x`, 0xD800+r>>10)
				r = 0xDC00 + r&0x3FF
			}
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Query gives a query that asks, more often than not, for something in the messages, of at most 500 code points. It
// may have no word at all.
func (g *Generator) Query(messages []Message) Query {
	var q Query
	n := 1 + g.rand.IntN(1+g.rand.IntN(4))
	for range n {
		q = append(q, g.term(messages))
	}
	for len([]rune(q.String())) > 500 {
		q = q[:len(q)-1]
	}
	if len(q) == 0 {
		q = Query{{Text: "refund"}}
	}
	return q
}

func (g *Generator) term(messages []Message) Term {
	quoted := g.rand.IntN(2) == 0
	var found []string
	if len(messages) > 0 && g.rand.IntN(5) > 0 {
		m := messages[g.rand.IntN(len(messages))]
		found = m[g.rand.IntN(len(m))].words()
	}
	if len(found) == 0 {
		found = []string{g.word(), g.word()}
	}
	n := 1 + g.rand.IntN(min(3, len(found)))
	at := g.rand.IntN(len(found) - n + 1)
	found = append([]string(nil), found[at:at+n]...)
	switch g.rand.IntN(8) {
	case 0:
		found[0] = strings.ToUpper(found[0])
	case 1:
		found[0] = norm.NFD.String(found[0])
	case 2:
		found[n-1] = g.word()
	case 3:
		found[0] = strings.Map(wide, found[0])
	}
	text := strings.Join(found, []string{" ", " ", "-", " - ", ", "}[g.rand.IntN(5)])
	return Term{Text: text, Quoted: quoted}
}
