package directory

import (
	"strings"

	"baton/internal/task"
)

// Ref is how a caller names an agent: by id, or by handle. Exactly one is set.
type Ref struct {
	ID     task.ID
	Handle string // normalized
}

// ParseRef reads a handle, with or without one leading @ and in any case, or an identity's id. ok is false when it
// can be neither.
func ParseRef(s string) (ref Ref, ok bool) {
	if id, ok := task.GivenID(s); ok {
		return Ref{ID: id}, true
	}
	h, ok := ParseHandle(s)
	return Ref{Handle: h}, ok
}

// Is says whether the reference names the identity, by its id or its present handle.
func (r Ref) Is(i Identity) bool {
	if r.Handle != "" {
		return r.Handle == i.Handle
	}
	return r.ID == i.ID
}

const (
	minHandle = 3 // contract section 5, "Handles"
	maxHandle = 32
)

// ParseHandle normalizes a handle: without its one leading @, in lower case. ok is false when it is malformed.
func ParseHandle(s string) (handle string, ok bool) {
	s = strings.TrimPrefix(s, "@")
	if len(s) < minHandle || len(s) > maxHandle || s[len(s)-1] == '-' {
		return "", false
	}
	lower := []byte(s)
	for i, c := range lower {
		switch {
		case c >= 'A' && c <= 'Z':
			lower[i] = c + 'a' - 'A'
		case c >= 'a' && c <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return "", false
		}
	}
	return string(lower), true
}
