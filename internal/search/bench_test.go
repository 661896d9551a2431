package search

import (
	"strings"
	"testing"
	"time"

	"baton/internal/search/searchtest"
)

var samples = []struct{ name, text string }{
	{"English", "Please refund order 4182 for the customer; it wasn't delivered on time, and we've promised a refund within 14 days. "},
	{"German", "Bitte prüfen Sie die Größenänderung für die Straße in München, die Übersicht ist seit gestern veröffentlicht. "},
	{"Russian", "Пожалуйста, верните деньги за заказ 4182: его не доставили вовремя, и мы обещали возврат. "},
	{"Japanese", "注文4182の返金をお願いします。配送が遅れたため、十四日以内に返金すると約束しました。カタカナ。"},
}

func kilobyte(text string) string {
	return strings.ToValidUTF8(strings.Repeat(text, 1024/len(text)+1)[:1024], "")
}

// BenchmarkSignature is what a write pays for a kilobyte of text.
func BenchmarkSignature(b *testing.B) {
	for _, sample := range samples {
		text := kilobyte(sample.text)
		b.Run(sample.name, func(b *testing.B) {
			stored := NewSignature(128).Bytes()
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				s := ParseSignature(stored)
				s.reader.read = 0
				s.Text(text)
			}
		})
	}
	b.Run("data", func(b *testing.B) {
		raw := []byte("[" + strings.Repeat(`{"orderId":4182,"note":"refund \"now\"","paid":true},`, 20) + "0]")
		stored := NewSignature(128).Bytes()
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			s := ParseSignature(stored)
			s.reader.read = 0
			s.Data(raw)
		}
	})
}

// BenchmarkMatch is what verifying a kilobyte of a candidate costs when the word is not there.
func BenchmarkMatch(b *testing.B) {
	for _, sample := range samples {
		text := kilobyte(sample.text)
		b.Run(sample.name, func(b *testing.B) {
			m := ask(b, `absent "not there"`).Message()
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				m.Reset()
				m.Text(text)
			}
		})
	}
}

// BenchmarkMayHold is what throwing out one index item costs.
func BenchmarkMayHold(b *testing.B) {
	s := NewSignature(128)
	read(s, []searchtest.Message{{{Text: kilobyte(samples[0].text)}}})
	stored, q := s.Bytes(), ask(b, "absent")
	b.ReportAllocs()
	for b.Loop() {
		if ParseSignature(stored).MayHold(q) {
			b.Fatal("granted")
		}
	}
}

// TestLongRunsTakeNoLongTime feeds long runs of what the word rules look around for: a segmenter or a normalizer that
// starts over for each character would take minutes.
func TestLongRunsTakeNoLongTime(t *testing.T) {
	for _, unit := range []string{
		"a", "'", "a'", "1,", "\u0301", "a\u0301", "a'\u0301", "\u0301'a", "🇩", "🇩\u200d", "\u200d", "🙂\u200d", "\u00ad", "א\"", "\"", "_",
		"カ", "東", "ﷺ", "\u0345\u0323", "\u1161", "가\u11a8", "\r", "\xff", "ẞ",
	} {
		for _, prefix := range []string{"", "a'"} {
			text := prefix + strings.Repeat(unit, 65_536/len([]rune(unit)))
			start := time.Now()
			s := NewSignature(128)
			s.reader.limit = 0
			s.Text(text)
			m := ask(t, `a "b a"`).Message()
			m.Text(text)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%+q repeated after %+q took %v", unit, prefix, took)
			}
		}
	}
}
