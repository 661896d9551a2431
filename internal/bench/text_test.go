package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// writer writes messages as agents do about one task: words as often as those of English prose are (of 5,000 words
// 1,400 differ, of 500 230, of 75 40), and a number of its own in each.
type writer struct {
	rank *rand.Zipf
	sum  int
}

// perMessage is how many words a message has.
const perMessage = 25

func newWriter(seed uint64) *writer {
	return &writer{rank: rand.NewZipf(rand.New(rand.NewPCG(seed, 15)), 1.15, 1, 49_999)}
}

func (w *writer) message() string {
	var b strings.Builder
	for range perMessage - 1 {
		b.WriteString(word(w.rank.Uint64()))
		b.WriteByte(' ')
	}
	w.sum++
	fmt.Fprintf(&b, "%d.", 1_000_000+w.sum)
	return b.String()
}

// word is the word of a rank: commoner ones are shorter, as they are everywhere.
func word(rank uint64) string {
	letters := []byte{"aeiou"[rank%5]}
	for rank += 40; rank > 0; rank /= 20 {
		letters = append(letters, "bcdfghklmnprstvwxyza"[rank%20])
	}
	return string(letters)
}
