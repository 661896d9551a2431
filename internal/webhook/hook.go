package webhook

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"baton/internal/task"
)

// EventDisabled tells an organization that one of its hooks was disabled, and why. It goes into the log, onto the bus and
// to the organization's other hooks.
const EventDisabled = task.EventHookDisabled

// EventTypes are those that a hook can ask for.
var EventTypes = []task.EventType{
	task.EventCreated, task.EventMessage, task.EventCanceled, task.EventSentUpdated, task.EventUpdated, EventDisabled,
}

// Reason is why a hook was disabled by us.
type Reason string

const (
	ReasonGone    Reason = "gone"    // the receiver answered 410
	ReasonFailing Reason = "failing" // nothing but failures for 5 days
)

// Hook is an organization's wish to be told of events at a URL.
type Hook struct {
	ID           task.ID
	Organization task.ID
	URL          string           // as Addresses.Check returned it
	Events       []task.EventType // in the order of EventTypes, each once
	Identity     task.ID          // only what this identity must see; zero: every one of the organization
	Enabled      bool
	// Disabled is why we disabled it; empty while Enabled and when the owner did it.
	Disabled Reason
	// FailingSince is the first failure after the latest success, zero when the latest attempt succeeded.
	FailingSince time.Time
	Enablings    int // how often its owner enabled it, the first time by making it
	Keys         Keys
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Version      int // counts the writes; of no meaning outside
}

// ParseEvents reads the list of event types of a hook: not empty, each known and named once. Errors are task.Invalid with
// fields such as events[2].
func ParseEvents(names []string) ([]task.EventType, error) {
	if len(names) == 0 {
		return nil, task.Invalid{{Field: "events", Message: "must name at least one event type"}}
	}
	var wrong task.Invalid
	chosen := map[task.EventType]bool{}
	for i, name := range names {
		t, field := task.EventType(name), fmt.Sprintf("events[%d]", i)
		switch {
		case i >= 2*len(EventTypes):
			return nil, append(wrong, task.FieldError{Field: "events", Message: "names too many event types"})
		case !slices.Contains(EventTypes, t):
			wrong = append(wrong, task.FieldError{Field: field, Message: "must be one of " + knownTypes()})
		case chosen[t]:
			wrong = append(wrong, task.FieldError{Field: field, Message: "is named twice"})
		}
		chosen[t] = true
	}
	if wrong != nil {
		return nil, wrong
	}
	return slices.DeleteFunc(slices.Clone(EventTypes), func(t task.EventType) bool { return !chosen[t] }), nil
}

func knownTypes() string {
	var names []string
	for _, t := range EventTypes {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

// Types says under which types the hook is told of an event of type t that identity must see; none when it isn't.
//
// The alias task.EventUpdated (contract section 4) is no event of its own: t is never it. A hook that names only the alias
// is told under it. One that names both is told once, or twice where its organization wants legacy events.
func (h Hook) Types(t task.EventType, identity task.ID, legacy bool) []task.EventType {
	if !h.Enabled || !h.Identity.IsZero() && h.Identity != identity {
		return nil
	}
	var as []task.EventType
	if slices.Contains(h.Events, t) {
		as = append(as, t)
	}
	if t == task.EventSentUpdated && slices.Contains(h.Events, task.EventUpdated) && (legacy || as == nil) {
		as = append(as, task.EventUpdated)
	}
	return as
}

// After is the hook after one of its deliveries was tried for the tries-th time, and whether anything of it changed that is
// worth a write. It is disabled by a 410 at once, and by a failure after 5 days of nothing else.
func (h Hook) After(o Outcome, tries int, ended time.Time) (after Hook, changed bool) {
	after = h
	switch {
	case !h.Enabled:
		return h, false
	case o.Result == Delivered:
		after.FailingSince = time.Time{}
	case o.Result == Gone:
		after.Enabled, after.Disabled = false, ReasonGone
	case h.FailingSince.IsZero():
		after.FailingSince = ended
	case ended.Sub(h.FailingSince) >= patience && tries >= triesToDisable:
		after.Enabled, after.Disabled = false, ReasonFailing
	}
	changed = after.Enabled != h.Enabled || !after.FailingSince.Equal(h.FailingSince)
	if changed {
		after.UpdatedAt = ended
	}
	return after, changed
}

// Enable is the hook as its owner enables or disables it; enabled anew it gets the full patience again.
func (h Hook) Enable(enabled bool, now time.Time) Hook {
	if enabled == h.Enabled {
		return h
	}
	h.Enabled, h.Disabled, h.FailingSince, h.UpdatedAt = enabled, "", time.Time{}, now
	if enabled {
		h.Enablings++
	}
	return h
}
