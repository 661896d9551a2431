package search

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func ask(t testing.TB, q string) *Query {
	t.Helper()
	query, err := ParseQuery(q)
	if err != nil {
		t.Fatal(err)
	}
	return query
}

// A filter that was cut is the one that it would have been, had it always had that size.
func TestFilterIsCutAnywhere(t *testing.T) {
	for range 300 {
		size := 9 + rand.IntN(600)
		to := 8 + rand.IntN(size-8)
		large, small := make(filter, size), make(filter, to)
		for i := range 60 {
			h := hash([]byte(strconv.Itoa(i)))
			large.set(h)
			small.set(h)
		}
		between := to + rand.IntN(size-to)
		if got := large.cut(between).cut(to); !bytes.Equal(got, small) {
			t.Fatalf("cut from %d to %d and %d it is another than one made so", size, between, to)
		}
	}
}

func TestSignatureThatKnowsNothingGrantsEverything(t *testing.T) {
	other := NewSignature(128).Bytes()
	other[0] = Rules + 1
	for name, b := range map[string][]byte{
		"none": nil, "empty": {}, "of other rules": other, "too short": {Rules, 0, 0, 0, 0, 0, 0, 0, 1},
		"of another division": append([]byte{Rules, 100, 0, 0, 0, 0, 0, 0}, make([]byte, 128)...),
	} {
		s := ParseSignature(b)
		s.Text("a")
		s.Data([]byte(`["a"]`))
		s.File("a")
		s.Shrink(64)
		q := ask(t, "refund")
		if _, may := s.Rest(q, NewArchive()); !may || !s.MayHold(q) || !s.MayHoldMessage(q) || !s.Full() || s.Spent() || s.Size() != 0 {
			t.Errorf("%s: denies, though it knows nothing", name)
		}
		if len(s.Bytes()) > 0 {
			t.Errorf("%s: stored as %x", name, s.Bytes())
		}
	}
	var zero Signature
	if !zero.MayHold(ask(t, "refund")) {
		t.Error("the zero signature denies")
	}
	if NewSignature(64).MayHold(ask(t, "refund")) {
		t.Error("the signature of no text grants")
	}
}

// What is not the archive that the signature speaks of denies nothing.
func TestArchiveThatKnowsTooLittleGrantsEverything(t *testing.T) {
	q := ask(t, "refund")
	s, a := NewSignature(128), NewArchive()
	a.Number = 5
	s.Archive(a, 128)
	a.Number = 4
	other := NewArchive().Bytes()
	other[0] = Rules + 1
	of, known := ParseArchive(other)
	none, there := ParseArchive(nil)
	if known || there {
		t.Error("an archive of other rules is known")
	}
	for name, a := range map[string]*Archive{"older": a, "of other rules": of, "none": none} {
		if rest, may := s.Rest(q, a); rest != nil || !may {
			t.Errorf("%s: denies", name)
		}
		a.Text("refund")
	}
	a.Number = 6
	if rest, may := s.Rest(q, a); rest != nil || !may {
		t.Error("a newer archive denies what it has")
	}
	if _, may := s.Rest(ask(t, "delivery"), a); may {
		t.Error("a newer archive grants what it doesn't have")
	}
}

func TestArchiveLeavesRecentWords(t *testing.T) {
	s, a := NewSignature(300), NewArchive()
	for _, d := range []Document{s, a} {
		d.Text("please refund")
	}
	a.Number = 1
	s.Archive(a, 300)
	s.Text("the delivery")
	s = ParseSignature(s.Bytes())
	if s.Archived() != 1 || s.Full() {
		t.Errorf("archived up to %d, full: %v", s.Archived(), s.Full())
	}
	for q, want := range map[string][]string{"refund please": nil, "refund delivery": {"delivery"}, "the delivery": {"the", "delivery"}} {
		rest, may := s.Rest(ask(t, q), a)
		if !may || !s.MayHold(ask(t, q)) {
			t.Errorf("%s is denied", q)
		}
		if (rest == nil) != (want == nil) || rest != nil && len(rest.words) != len(want) {
			t.Errorf("of %s, %v stands behind the archive, want %q", q, rest, want)
			continue
		}
		for _, w := range want {
			if _, there := rest.words[w]; !there {
				t.Errorf("of %s, %s stands behind the archive", q, w)
			}
		}
	}
	if _, may := s.Rest(ask(t, "refund nowhere"), a); may {
		t.Error("a word that stands nowhere is granted")
	}
}

func TestSignatureTakesTheFirstTextOnly(t *testing.T) {
	in, out := ask(t, "last"), ask(t, "beyond")
	fill := strings.Repeat("x ", TaskText/2-2)
	whole := func() *Signature {
		s := NewSignature(128)
		s.Text(fill)
		s.Data([]byte(`["last"]`)) // ends exactly at the limit
		return ParseSignature(s.Bytes())
	}
	s := whole()
	if !s.MayHold(in) || s.MayHoldMessage(out) {
		t.Error("at the limit: wants last in and beyond denied")
	}
	for name, more := range map[string]func(*Signature){
		"text": func(s *Signature) { s.Text("beyond") },
		"data": func(s *Signature) { s.Data([]byte(`{"":"beyond"}`)) },
		"file": func(s *Signature) { s.File("beyond") },
	} {
		s := whole()
		more(s)
		s = ParseSignature(s.Bytes())
		if s.MayHold(out) || !s.MayHoldMessage(out) {
			t.Errorf("%s beyond the limit must be denied for tasks and granted for messages", name)
		}
		a := NewArchive()
		a.Text("last")
		a.Number = 2
		s.Archive(a, 128)
		if _, may := s.RestMessage(out, a); !may || !s.MayHoldMessage(out) {
			t.Errorf("%s beyond the limit must be granted for messages when it was archived, too", name)
		}
	}
	s.Text("")
	s.Data([]byte(`["",""]`))
	if s.MayHoldMessage(out) {
		t.Error("empty text cut the signature")
	}
}

// TestFalseCandidates measures how often a word that is not there is granted, by filters and by signatures of some sizes.
func TestFalseCandidates(t *testing.T) {
	t.Log("words    filter of 64      300      512  3000 bytes;  signature of 154      450 bytes")
	for _, words := range []int{20, 50, 100, 150, 250, 400, 1000, 1500, 3000} {
		line := fmt.Sprintf("%5d          ", words)
		for _, size := range []int{64, 300, 512, 3000} {
			rate := falseRate(words, func() (func(string), func(*Query) bool) {
				f := make(filter, size)
				return func(word string) { f.set(hash([]byte(word))) }, func(q *Query) bool { return f.hasAll(q.hashes) }
			})
			line += fmt.Sprintf(" %7.3f%%", 100*rate)
			// Bits of a size between two powers of two are not all alike: the upper half is for fewer words.
			fill := 1 - math.Exp(-3*float64(words)/float64(8*size))
			if ideal := fill * fill * fill; rate > 1.4*ideal+0.0006 {
				t.Errorf("%d words in %d bytes: %.3f %% granted, a perfect hash of an even filter %.3f %%", words, size, 100*rate, 100*ideal)
			}
		}
		line += "              "
		for _, size := range []int{154, 450} {
			line += fmt.Sprintf(" %7.3f%%", 100*falseRate(words, func() (func(string), func(*Query) bool) {
				s := NewSignature(size)
				return s.Text, s.MayHold
			}))
		}
		t.Log(line)
	}
}

func falseRate(words int, made func() (set func(string), has func(*Query) bool)) float64 {
	const tasks, absent = 40, 500
	granted := 0
	for task := range tasks {
		set, has := made()
		for i := range words {
			set(fmt.Sprint("w", task*10_000+i))
		}
		for i := range absent {
			if q, _ := ParseQuery(fmt.Sprint("a", task*1000+i)); has(q) {
				granted++
			}
		}
	}
	return float64(granted) / (tasks * absent)
}
