package store

import (
	"baton/internal/search"
	"baton/internal/task"
)

// newestSignature is how many bytes of words a new task's head has; it is folded as the head fills up.
const newestSignature = 512

// addWords adds a message's text to a task's signature or matcher, in the order in which it counts.
func addWords(to search.Document, m *task.Message) {
	if m == nil {
		return
	}
	for _, p := range m.Parts {
		switch {
		case p.Text != nil:
			to.Text(*p.Text)
		case p.Data != nil:
			to.Data(p.Data)
		case p.File != nil:
			to.File(p.File.Name)
		}
	}
}
