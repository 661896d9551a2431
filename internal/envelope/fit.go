package envelope

import (
	"unicode/utf8"

	"baton/internal/task"
)

// share divides room between two texts of the given encoded lengths: all of both where they fit, otherwise half each,
// and what one doesn't need is the other's.
func share(a, b, room int) (forA, forB int) {
	half := room / 2
	switch {
	case a+b <= room:
		return a, b
	case a <= half:
		return a, room - a
	case b <= half:
		return room - b, b
	}
	return half, half
}

// shortened is the clip with as many whole characters as take at most room bytes when encoded.
func shortened(c task.Clip, room int) task.Clip {
	taken := 0
	for i, r := range c.Text {
		taken += width(r)
		if taken > room {
			c.Text, c.Cut = c.Text[:i], true
			return c
		}
	}
	return c
}

// quoted is how many bytes a text takes inside a JSON string.
func quoted(text string) (n int) {
	for _, r := range text {
		n += width(r)
	}
	return n
}

// width is how many bytes encoding/json writes for a character, without HTML escaping.
func width(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\b', r == '\f', r == '\n', r == '\r', r == '\t':
		return 2
	case r < 0x20, r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return 6
	}
	return utf8.RuneLen(r)
}
