package search

import (
	"encoding/hex"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"baton/internal/search/searchtest"
)

func keysOf(text string) (keys []string) {
	var r reader
	r.each(text, func(key []byte) bool {
		keys = append(keys, string(key))
		return true
	})
	return keys
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                    nil,
		" _ -- 🙂 … ":                          nil,
		"order 4182":                          {"order", "4182"},
		"1,000.25 -3 1E+5":                    {"1,000.25", "3", "1e", "5"},
		"can't can’t 'quoted'":                {"can't", "can’t", "quoted"},
		"wi-fi snake_case __init__ a.b a@b":   {"wi", "fi", "snake_case", "__init__", "a.b", "a", "b"},
		"Straße STRASSE STRAẞE ſtraſſe":       {"strasse", "strasse", "strasse", "strasse"},
		"ΟΔΟΣ οδος οδοσ":                      {"οδοσ", "οδοσ", "οδοσ"},
		"İ i̇ I ı i":                          {"i̇", "i̇", "i", "ı", "i"},
		"ﬁnal ﬁ FI":                           {"final", "fi", "fi"},
		"Ｆｕｌｌ １２３ ｶﾞ ガ":                       {"full", "123", "ガ", "ガ"},
		"caf\u00e9 cafe\u0301 cafe CAFÉ":      {"café", "café", "cafe", "café"},
		"東京 カタカナ 한국어 ไท":                      {"東", "京", "カタカナ", "한국어", "ไ", "ท"},
		"צה\"ל צה״ל \"של\"":                   {"צה\"ל", "צה״ל", "של"},
		"مرحبا ﷺ":                             {"مرحبا", "صلى الله عليه وسلم"},
		"1️⃣ ① ½ x² 👩‍👩‍👧a":                   {"1️⃣", "1", "1⁄2", "x", "2", "a"},
		"\u202eabc\u202c co\u00adop x\u200dy": {"abc\u202c", "co\u00adop", "x\u200dy"},
		"a\xffb \xff \xed\xa0\x80":            {"a", "b"},
	} {
		if got := keysOf(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// every calls f with all code points but the surrogates and the planes without any characters or for private use.
func every(f func(c rune, s string)) {
	for c := rune(0); c < 0xE1000; c++ {
		if utf8.ValidRune(c) && (c < 0x40000 || c >= 0xE0000) {
			f(c, string(c))
		}
	}
}

func TestKeyFoldsEveryCodePointAsUnicodeDoes(t *testing.T) {
	var r reader
	every(func(c rune, s string) {
		key := string(r.keyOf(s))
		// The Unicode Standard, section 3.13, D146, and the shorter reading of the contract.
		d146 := norm.NFKC.String(searchtest.Fold(norm.NFKD.String(searchtest.Fold(norm.NFD.String(s)))))
		short := norm.NFKC.String(searchtest.Fold(norm.NFKC.String(s)))
		if key != d146 || key != short {
			t.Errorf("%U: key %+q, D146 %+q, fold after NFKC %+q", c, key, d146, short)
		}
		if again := string(r.keyOf(key)); again != key {
			t.Errorf("%U: the key of its key %+q is %+q", c, key, again)
		}
	})
}

func TestKeyIsTheSameHoweverAWordIsWritten(t *testing.T) {
	var odd []rune // what changes in any form
	every(func(c rune, s string) {
		if norm.NFKD.String(s) != s || unicode.ToLower(c) != c || unicode.ToUpper(c) != c || unicode.IsMark(c) {
			odd = append(odd, c)
		}
	})
	random := rand.New(rand.NewPCG(1, 2))
	var r reader
	for range 50_000 {
		word := make([]rune, 1+random.IntN(4))
		for i := range word {
			word[i] = odd[random.IntN(len(odd))]
		}
		s := string(word)
		key := string(r.keyOf(s))
		for name, other := range map[string]string{
			"key": key, "NFC": norm.NFC.String(s), "NFD": norm.NFD.String(s), "NFKC": norm.NFKC.String(s),
			"NFKD": norm.NFKD.String(s), "fold of NFKD": searchtest.Fold(norm.NFKD.String(s)),
		} {
			if got := string(r.keyOf(other)); got != key {
				t.Fatalf("%+q: key %+q, key of its %s %+q", s, key, name, got)
			}
		}
	}
}

func TestCommonLettersGoTheShortWay(t *testing.T) {
	var r reader
	count := 0
	every(func(c rune, s string) {
		short, ok := common(c)
		if !ok {
			return
		}
		count++
		if key := string(r.keyOfUnicode(s)); key != string(short) {
			t.Errorf("%U: key %+q, the short way %+q", c, key, short)
		}
		// Then no key changes when it is joined with others.
		if !norm.NFKC.PropertiesString(string(short)).BoundaryBefore() {
			t.Errorf("%U: its key may join with what stands before it", c)
		}
	})
	if count < 30_000 {
		t.Errorf("only %d code points are common", count)
	}
}

// TestRulesHaveTheirNumber fails when what counts as a word, how it is compared or where a signature puts it changes,
// by our hand or by another Unicode in a library or in Go. Then stored signatures no longer fit: raise Rules.
func TestRulesHaveTheirNumber(t *testing.T) {
	sum := fnv.New128a()
	around := []string{"%", "a%", "%a", "a%a", "1%1", "a%'a", "א%\"א", "カ%カ", "🙂\u200d%", "%_1"}
	var b strings.Builder
	every(func(c rune, s string) {
		b.Reset()
		for _, pattern := range around {
			for _, key := range keysOf(strings.ReplaceAll(pattern, "%", s)) {
				b.WriteString(key)
				b.WriteByte(0)
			}
			b.WriteByte(1)
		}
		sum.Write([]byte(b.String()))
	})
	signature, archive := NewSignature(300), NewArchive()
	for _, key := range []string{"a", "4182", "refund", "größe", "東"} {
		signature.Text(key)
		archive.Text(key)
	}
	sum.Write(append(signature.Bytes()[1:], archive.Bytes()[1:]...))
	const want, rules = "4992f4dc8125cb865718f79eef9bb92f", 2
	if got := hex.EncodeToString(sum.Sum(nil)); got != want || Rules != rules {
		t.Errorf("the word rules are %s under number %d; they were %s under %d", got, Rules, want, rules)
	}
}

func TestLimitLeavesOutTheWordThatEndsBeyondIt(t *testing.T) {
	for _, row := range []struct {
		name  string
		limit int
		texts []string
		want  []string
	}{
		{"a word that ends at the limit counts", 6, []string{"refund it"}, []string{"refund"}},
		{"a word cut through is no other word", 6, []string{"refunded"}, nil},
		{"and nothing after it counts", 6, []string{"refunded", "it"}, nil},
		{"code points count, not bytes", 5, []string{"größe groß"}, []string{"grösse"}},
		{"texts count together", 6, []string{"größe", "a", "b"}, []string{"grösse", "a"}},
		{"an empty text counts nothing", 1, []string{"", "a", "", "b"}, []string{"a"}},
		{"what is no word counts too", 3, []string{"🙂🙂 a", "b"}, nil},
		{"no limit", 0, []string{"refunded it"}, []string{"refunded", "it"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := reader{limit: row.limit}
			var got []string
			for _, text := range row.texts {
				r.each(text, func(key []byte) bool {
					got = append(got, string(key))
					return true
				})
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
