package directory

import (
	"context"
	"strings"
	"unicode/utf8"

	"baton/internal/task"
)

// Listed says whether the agent is found by Discover.
func (i Identity) Listed() bool {
	return i.Discoverable && i.A2AEnabled && !i.Deleted && !i.Organization.Suspended
}

// SearchText is all that Discover searches of an agent, in lower case.
func (i Identity) SearchText() string {
	words := []string{i.Handle, i.DisplayName, i.Description}
	for _, s := range i.Skills {
		words = append(words, s.ID, s.Name, s.Description)
		words = append(words, s.Tags...)
	}
	return strings.ToLower(strings.Join(words, "\n"))
}

// DiscoverQuery says which agents to find: those in whose texts every word of Words occurs, as a part of a word too.
type DiscoverQuery struct {
	Words []string // as Words makes them
	// Spread is any number; callers that give different ones begin at different places, so that they don't all ask the
	// same partition. A caller must give the same one for each of its pages.
	Spread byte
	After  []byte // the Next of the page before, nil for the first
	Limit  int
}

// DiscoverPage is a page of agents with their organizations. It may be short or empty and still not be the last.
type DiscoverPage struct {
	Items []Identity
	Next  []byte // nil on the last page
}

const (
	maxDiscoverText  = 500 // characters, as for every q of contract section 3
	maxDiscoverWords = 32  // as many conditions as one query bears with ease
)

// Words are what a search text asks for: a task.Invalid when there are none, or too many.
func Words(q string) ([]string, error) {
	words := strings.Fields(strings.ToLower(q))
	switch {
	case utf8.RuneCountInString(q) > maxDiscoverText:
		return nil, task.Invalid{{Field: "q", Message: "has more than 500 characters"}}
	case len(words) == 0:
		return nil, task.Invalid{{Field: "q", Message: "has no word"}}
	case len(words) > maxDiscoverWords:
		return nil, task.Invalid{{Field: "q", Message: "has more than 32 words"}}
	}
	return words, nil
}

// Discover is a page of the listed agents of all organizations, each with its organization's name and verification. A
// task.Invalid when After is no position; ErrUnavailable.
func (s *Service) Discover(ctx context.Context, q DiscoverQuery) (DiscoverPage, error) {
	found, next, err := s.store.Listed(ctx, q)
	if err != nil {
		return DiscoverPage{}, err
	}
	page := DiscoverPage{Next: next}
	for _, i := range found {
		if i.Listed() {
			page.Items = append(page.Items, i)
		}
	}
	return page, nil
}
