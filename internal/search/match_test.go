package search

import (
	"errors"
	"strings"
	"testing"

	"baton/internal/search/searchtest"
)

// read hands messages to a document.
func read(d Document, messages []searchtest.Message) {
	for _, m := range messages {
		for _, p := range m {
			switch {
			case p.Data != "":
				d.Data([]byte(p.Data))
			case p.File != "":
				d.File(p.File)
			default:
				d.Text(p.Text)
			}
		}
	}
}

func texts(all ...string) (messages []searchtest.Message) {
	for _, text := range all {
		messages = append(messages, searchtest.Message{{Text: text}})
	}
	return messages
}

func data(all ...string) (messages []searchtest.Message) {
	for _, raw := range all {
		messages = append(messages, searchtest.Message{{Data: raw}})
	}
	return messages
}

func TestMatch(t *testing.T) {
	order, both := data(`{"orderId":4182}`), data(`[4182,4183]`)
	twoParts := []searchtest.Message{{{Text: "late"}, {Text: "delivery"}}}
	for _, row := range []struct {
		name string
		in   []searchtest.Message
		q    string
		want bool
	}{
		{"a number is found in data", order, `4182`, true},
		{"a key is found in data", order, `ORDERID`, true},
		{"a number is not found in a longer one", data(`{"orderId":41820}`), `4182`, false},
		{"both numbers of a list are words, the first", both, `4182`, true},
		{"and the second", both, `4183`, true},
		{"and they stand in a row", both, `"4182 4183"`, true},
		{"a phrase goes from key to value", order, `"orderId 4182"`, true},
		{"words never join across scalars", data(`["re","fund"]`), `refund`, false},
		{"a number is as written", data(`[1.50]`), `1.5`, false},
		{"a literal is a word", data(`{"paid":true}`), `"paid true"`, true},
		{"an escape is read", data(`["Gr\u00f6\u00dfe"]`), `GRÖSSE`, true},
		{"no stemming one way", texts("a refund"), `refunded`, false},
		{"no stemming the other way", texts("refunded"), `refund`, false},
		{"words may be in different messages", texts("late", "delivery"), `delivery late`, true},
		{"every word is needed", texts("late", "delivery"), `delivery late refund`, false},
		{"a phrase is not found across messages", texts("late", "delivery"), `"late delivery"`, false},
		{"nor across parts", twoParts, `"late delivery"`, false},
		{"but over punctuation", texts("late, -- delivery"), `"late delivery"`, true},
		{"a phrase has its order", texts("delivery late"), `"late delivery"`, false},
		{"a phrase has no holes", texts("late big delivery"), `"late delivery"`, false},
		{"a phrase that starts again in itself", texts("a b a b a c"), `"a b a c"`, true},
		{"an open quote runs to the end", texts("a late delivery"), `a "late delivery`, true},
		{"an open quote is a phrase", texts("late a delivery"), `a "late delivery`, false},
		{"the second phrase", texts("x y", "a b"), `"x y""a b"`, true},
		{"hyphens part words", texts("fi wi"), `wi-fi`, true},
		{"quoted, in a row", texts("fi wi"), `"wi-fi"`, false},
		{"an apostrophe doesn't", texts("can't"), `can`, false},
		{"a file is found by name", []searchtest.Message{{{File: "Invoice 7.pdf"}}}, `"invoice 7"`, true},
		{"a gershayim is no quote", texts(`דובר צה"ל אמר`), `צה"ל אמר`, true},
		{"ideographs anywhere", texts("京の東"), `東京`, true},
		{"ideographs in a row", texts("京の東"), `"東京"`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			q, err := ParseQuery(row.q)
			if err != nil {
				t.Fatal(err)
			}
			m := q.Task()
			read(m, row.in)
			if m.Found() != row.want {
				t.Errorf("%s in %v: got %v", row.q, row.in, m.Found())
			}
		})
	}
}

func TestQueryIsRefused(t *testing.T) {
	for q, want := range map[string]error{
		"":                              ErrQueryLength,
		strings.Repeat("ö", 501):        ErrQueryLength,
		strings.Repeat("ö", 500):        nil,
		" ":                             ErrQueryNoWords,
		`""`:                            ErrQueryNoWords,
		`"`:                             ErrQueryNoWords,
		"🙂 - _":                         ErrQueryNoWords,
		`"" a`:                          nil,
		`"a`:                            nil,
		"\xff":                          ErrQueryNoWords,
		"\"\u0301a b\u0301\"\u0301 c\"": nil,
	} {
		if _, err := ParseQuery(q); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", q, err, want)
		}
	}
}

func TestMatcherStopsEarlyAndStartsAgain(t *testing.T) {
	q, err := ParseQuery(`a "b c"`)
	if err != nil {
		t.Fatal(err)
	}
	m := q.Message()
	for range 2 {
		m.Text("a b")
		m.Text("c")
		if m.Settled() {
			t.Fatal("settled without the phrase")
		}
		m.Text("b c d")
		if !m.Settled() || !m.Found() {
			t.Fatal("not found")
		}
		m.Reset()
		if m.Found() {
			t.Fatal("found after a reset")
		}
	}
	task := q.Task()
	task.Text(strings.Repeat("x", TaskText-3) + " a b c")
	if !task.Settled() || task.Found() {
		t.Fatal("the text beyond the limit counted")
	}
	task.Text("a b c")
	if task.Found() {
		t.Fatal("a part beyond the limit counted")
	}
	m.Text(strings.Repeat("x", TaskText) + " a b c")
	if !m.Found() {
		t.Fatal("a message has no limit")
	}
}

// kept is what is stored of a task's words, and the task itself.
type kept struct {
	messages  []searchtest.Message
	limit     int
	signature *Signature
	archived  *Archive
}

func newKept(limit int, known bool) *kept {
	k := &kept{limit: limit, signature: NewSignature(512), archived: NewArchive()}
	k.signature.reader.limit, k.archived.reader.limit = limit, limit
	if !known {
		k.signature = &Signature{}
	}
	return k
}

func (k *kept) write(m searchtest.Message) {
	k.messages = append(k.messages, m)
	read(k.signature, []searchtest.Message{m})
	k.signature = ParseSignature(k.signature.Bytes())
	k.signature.reader.limit = k.limit
}

func (k *kept) archive(size int) {
	read(k.archived, k.messages[k.archived.Number:])
	k.archived.Number = len(k.messages)
	k.signature.Archive(k.archived, size)
	k.archived, _ = ParseArchive(k.archived.Bytes())
	k.archived.reader.limit = k.limit
	k.signature = ParseSignature(k.signature.Bytes())
	k.signature.reader.limit = k.limit
}

// mayHold asks the signature, the archive, and where that says so the messages behind it.
func (k *kept) mayHold(q *Query) bool {
	rest, may := k.signature.Rest(q, k.archived)
	if rest != nil {
		m := rest.Message()
		read(m, k.messages[k.archived.Number:])
		may = m.Found()
	}
	return k.signature.MayHold(q) && may
}

func (k *kept) mayHoldMessage(q *Query) bool {
	rest, may := k.signature.RestMessage(q, k.archived)
	if rest == nil {
		return k.signature.MayHoldMessage(q) && may
	}
	for _, message := range k.messages[k.archived.Number:] {
		m := rest.Message()
		read(m, []searchtest.Message{message})
		if m.Found() {
			return k.signature.MayHoldMessage(q)
		}
	}
	return false
}

// TestSearchAgreesWithTheModel compares random queries over random tasks with package searchtest, which knows nothing
// of matchers or signatures. A signature must never deny what is there, at any size and however it came to be.
func TestSearchAgreesWithTheModel(t *testing.T) {
	found, queries := 0, 0
	for seed := range uint64(1500) {
		g := searchtest.New(seed)
		var messages []searchtest.Message
		for range 1 + seed%5 {
			messages = append(messages, g.Message())
		}
		limit := int(seed*7) % 200 // small, so that it matters; 0 is none
		kept := newKept(limit, seed%3 > 0)
		for i, m := range messages {
			kept.write(m)
			if i == 1 {
				kept.signature.Shrink([]int{64, 97, 150, 400}[seed%4])
			}
			if seed%3 > 0 && uint64(i)%3 == seed%5 {
				kept.archive([]int{64, 200, 512}[seed%3])
			}
		}
		for range 20 {
			asked := g.Query(messages)
			q, err := ParseQuery(asked.String())
			if errors.Is(err, ErrQueryNoWords) && !asked.HasWord() {
				continue
			}
			if err != nil || !asked.HasWord() {
				t.Fatalf("seed %d, query %q: %v", seed, asked.String(), err)
			}
			queries++
			m := q.matcher(limit)
			read(m, messages)
			want := asked.Finds(messages, limit)
			if m.Found() != want {
				t.Fatalf("seed %d, limit %d: %+q in %+q: got %v, want %v", seed, limit, asked.String(), messages, m.Found(), want)
			}
			if want {
				found++
			}
			if want && !kept.mayHold(q) {
				t.Fatalf("seed %d, limit %d: the signature denies %+q", seed, limit, asked.String())
			}
			one := q.Message()
			for _, message := range messages {
				one.Reset()
				read(one, []searchtest.Message{message})
				want := asked.Finds([]searchtest.Message{message}, 0)
				if one.Found() != want {
					t.Fatalf("seed %d: %+q in message %+q: got %v", seed, asked.String(), message, one.Found())
				}
				if want && !kept.mayHoldMessage(q) {
					t.Fatalf("seed %d, limit %d: the signature denies the message with %+q", seed, limit, asked.String())
				}
			}
		}
	}
	t.Logf("%d of %d queries found their task", found, queries)
	if found < queries/10 || found > queries*9/10 {
		t.Errorf("%d of %d queries found their task: the model tests little", found, queries)
	}
}

// FuzzMatch wants that nothing panics, and that a text is found by its own words and by itself as a phrase.
func FuzzMatch(f *testing.F) {
	f.Add("the Größe of 4182", "größe \"of 4182")
	f.Add("\xff\xed\xa0\x80a\u0301", "\"\"\"")
	f.Add("צה\"ל", "צה\"ל")
	f.Fuzz(func(t *testing.T, text, query string) {
		signature := NewSignature(128)
		signature.Text(text)
		signature.Data([]byte(text))
		for _, ask := range []string{query, text, `"` + text} {
			q, err := ParseQuery(ask)
			if err != nil {
				continue
			}
			m := q.Message()
			m.Text(text)
			m.Data([]byte(text))
			if m.Found() && !signature.MayHold(q) {
				t.Fatalf("the signature of %q denies %q", text, ask)
			}
			if ask == text && !strings.Contains(text, `"`) && !m.Found() {
				t.Fatalf("%q does not find itself", text)
			}
		}
	})
}
