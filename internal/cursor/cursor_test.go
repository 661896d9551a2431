package cursor_test

import (
	"bytes"
	"testing"
	"time"

	"baton/internal/cursor"
)

func TestCursor(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	position := bytes.Repeat([]byte{7}, 24)
	old := cursor.New("old", clock)
	rotated := cursor.New("new,old", clock)

	text := old.Seal(position, "a list")
	spaced := cursor.New(" new , old ,", clock)
	slow := cursor.New("old", func() time.Time { return now.Add(-10 * time.Minute) })
	for name, s := range map[string]*cursor.Sealer{
		"its own": old, "after a rotation": rotated, "with spaces": spaced, "by a clock that is behind": slow,
	} {
		if got, err := s.Open(text, "a list"); err != nil || !bytes.Equal(got, position) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
	for i := range text {
		flipped := []byte(text)
		flipped[i] ^= 1
		if _, err := old.Open(string(flipped), "a list"); err == nil {
			t.Errorf("opened with byte %d flipped", i)
		}
	}
	for name, open := range map[string]func() ([]byte, error){
		"another list":   func() ([]byte, error) { return old.Open(text, "b list") },
		"another secret": func() ([]byte, error) { return cursor.New("new", clock).Open(text, "a list") },
		"the secret that is none": func() ([]byte, error) {
			return spaced.Open(cursor.New("x", clock).Seal(position, "a list"), "a list")
		},
		"an old one's, after a rotation": func() ([]byte, error) {
			return old.Open(rotated.Seal(position, "a list"), "a list")
		},
		"nothing": func() ([]byte, error) { return old.Open("", "a list") },
		"garbage": func() ([]byte, error) { return old.Open("???", "a list") },
		"cut":     func() ([]byte, error) { return old.Open(text[:20], "a list") },
		"the last letter's idle bits set": func() ([]byte, error) {
			return old.Open(text[:len(text)-1]+string(text[len(text)-1]+1), "a list")
		},
		"from the future": func() ([]byte, error) {
			return cursor.New("old", func() time.Time { return now.Add(-time.Hour) }).Open(text, "a list")
		},
		"a position alone": func() ([]byte, error) { return old.Open("BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH", "a list") },
	} {
		if got, err := open(); err != cursor.ErrInvalid {
			t.Errorf("%s: opened to %x, %v", name, got, err)
		}
	}
}
