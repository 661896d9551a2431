package directory

import (
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"baton/internal/task"

	"github.com/go-json-experiment/json"
)

// Identity is an agent: what is known of it and what it allows.
type Identity struct {
	ID                  task.ID
	Organization        Organization // from a Target only ID and Suspended, the latter up to a minute behind
	Handle              string       // lower case, without @
	DisplayName         string
	Description         string
	A2AEnabled          bool
	Discoverable        bool
	DeduplicateMessages bool
	Skills              []Skill
	Denies              bool // has an access rule that denies
	Deleted             bool
	Made                string // what is known of the Once with which it was made
	CreatedAt           time.Time
	UpdatedAt           time.Time
	Version             int // counts the writes; of no meaning outside
}

// Party is the identity as tasks record it.
func (i Identity) Party() task.Party {
	return task.Party{Identity: i.ID, Organization: i.Organization.ID, Handle: i.Handle}
}

// Caller is the identity as the requester of a task.
func (i Identity) Caller() task.Caller {
	return task.Caller{Party: i.Party(), Verified: i.Organization.Verified}
}

// Skill is one thing that an agent says it can do, as A2A agent cards list them.
type Skill struct {
	ID, Name, Description string
	Tags, Examples        []string
}

// IdentityEdit is what may be said of an agent, when it is made or later. Nil fields are left as they are.
type IdentityEdit struct {
	Handle              *string // in any form that ParseHandle takes
	DisplayName         *string
	Description         *string
	A2AEnabled          *bool
	Discoverable        *bool
	DeduplicateMessages *bool
	Skills              *[]Skill
	Once                Once // of the making alone
}

// The limits of a profile keep it under 4 KB in nearly all cases, since every send to the agent reads it whole.
const (
	// maxProfile is the most bytes of all its texts as compact JSON: one answer of Discover holds a hundred strangers'
	// profiles, and each character may take twice the room there.
	maxProfile     = 24 << 10
	maxDescription = 2000
	maxSkills      = 20
	maxSkillText   = 500 // of a skill's description, and of each example
	maxSkillTags   = 10  // and examples
	maxSkillTag    = 64  // of a tag, and of a skill's id
)

// apply returns the identity as the edit leaves it, or an Invalid that names every wrong field.
func (e IdentityEdit) apply(i Identity) (Identity, error) {
	var bad task.Invalid
	text := func(field, s string, least, most int) {
		if n := utf8.RuneCountInString(s); n < least || n > most {
			bad = append(bad, task.FieldError{Field: field, Message: fmt.Sprintf("has %d characters; it must have %d to %d", n, least, most)})
		}
	}
	count := func(field string, n, most int) {
		if n > most {
			bad = append(bad, task.FieldError{Field: field, Message: fmt.Sprintf("has %d entries, more than %d", n, most)})
		}
	}
	if e.Handle != nil {
		h, ok := ParseHandle(*e.Handle)
		if !ok {
			bad = append(bad, task.FieldError{Field: "handle", Message: "must be 3 to 32 of a-z, 0-9 and -, start with a letter and not end in -"})
		}
		i.Handle = h
	}
	if e.DisplayName != nil {
		text("display_name", *e.DisplayName, 0, maxName)
		i.DisplayName = *e.DisplayName
	}
	if e.Description != nil {
		text("description", *e.Description, 0, maxDescription)
		i.Description = *e.Description
	}
	if e.Skills != nil {
		count("skills", len(*e.Skills), maxSkills)
		for n, s := range *e.Skills {
			at := fmt.Sprintf("skills[%d].", n)
			text(at+"id", s.ID, 1, maxSkillTag)
			text(at+"name", s.Name, 1, maxName)
			text(at+"description", s.Description, 0, maxSkillText)
			count(at+"tags", len(s.Tags), maxSkillTags)
			for k, tag := range s.Tags {
				text(fmt.Sprintf("%stags[%d]", at, k), tag, 1, maxSkillTag)
			}
			count(at+"examples", len(s.Examples), maxSkillTags)
			for k, example := range s.Examples {
				text(fmt.Sprintf("%sexamples[%d]", at, k), example, 1, maxSkillText)
			}
		}
		i.Skills = *e.Skills
	}
	set(&i.A2AEnabled, e.A2AEnabled)
	set(&i.Discoverable, e.Discoverable)
	set(&i.DeduplicateMessages, e.DeduplicateMessages)
	if n := i.profileBytes(); bad == nil && n > maxProfile {
		bad = append(bad, task.FieldError{Field: "skills", Message: fmt.Sprintf("and the other texts make a profile of %d bytes as compact JSON, more than %d", n, maxProfile)})
	}
	if bad != nil {
		return Identity{}, bad
	}
	return i, nil
}

func set(to *bool, from *bool) {
	if from != nil {
		*to = *from
	}
}

// profileBytes is how much room the agent's texts take as compact JSON.
func (i Identity) profileBytes() int {
	text, err := json.Marshal([]any{i.DisplayName, i.Description, i.Skills})
	if err != nil {
		return math.MaxInt // can't be: every text was decoded from JSON
	}
	return len(text)
}
