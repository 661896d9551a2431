package traffic

import (
	"fmt"
	"maps"
	"sync"

	"baton/internal/task"
)

// Ledger is what was tried and what the service said to it. Safe for concurrent use.
type Ledger struct {
	mu        sync.Mutex
	tasks     map[task.ID]bool
	writes    map[Write]Outcome
	claims    map[string]task.ID // by lease
	surprises []string
	counts    map[string]int
}

// Write is one write that was tried, however often.
type Write struct {
	Task      task.ID
	Role      task.Role
	MessageID string
	Cancel    bool
}

// Outcome is what its writer knows of a write.
type Outcome int

const (
	Unknown  Outcome = iota // it got no answer: made once or not at all
	Accepted                // made
	Refused                 // not made
)

// NewLedger returns an empty one.
func NewLedger() *Ledger {
	return &Ledger{tasks: map[task.ID]bool{}, writes: map[Write]Outcome{}, claims: map[string]task.ID{}, counts: map[string]int{}}
}

// Note notes a write before it is tried, and again with what came of it.
func (l *Ledger) Note(w Write, o Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writes[w] == Accepted && o != Accepted {
		if o == Refused {
			l.surprises = append(l.surprises, fmt.Sprintf("message %s of task %s: accepted, then refused", w.MessageID, w.Task))
		}
		return
	}
	l.tasks[w.Task] = true
	l.writes[w] = o
}

// Claimed notes a lease.
func (l *Ledger) Claimed(t task.ID, lease string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, twice := l.claims[lease]; twice {
		l.surprises = append(l.surprises, fmt.Sprintf("lease %s is of task %s and of %s", lease, before, t))
	}
	l.tasks[t] = true
	l.claims[lease] = t
}

// Surprise notes an answer that nobody could expect.
func (l *Ledger) Surprise(format string, a ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.surprises = append(l.surprises, fmt.Sprintf(format, a...))
}

// Count counts an operation, by its name and how it went.
func (l *Ledger) Count(operation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[operation]++
}

// Counts are the operations so far.
func (l *Ledger) Counts() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.counts)
}

// Tasks are the ids of all tasks that a write may have made.
func (l *Ledger) Tasks() (all []task.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.tasks {
		all = append(all, id)
	}
	return all
}

func (l *Ledger) snapshot() (writes map[Write]Outcome, claims map[string]task.ID, surprises []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.writes), maps.Clone(l.claims), append([]string(nil), l.surprises...)
}
