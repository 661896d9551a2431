package relay

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"baton/internal/task"
)

// legacy remembers for a minute which organizations want the older event type too.
type legacy struct {
	organizations Organizations
	mu            sync.Mutex
	known         map[task.ID]knownLegacy
}

type knownLegacy struct {
	wants bool
	until time.Time
}

const legacyKnown = time.Minute

func newLegacy(o Organizations) *legacy {
	return &legacy{organizations: o, known: map[task.ID]knownLegacy{}}
}

func (l *legacy) wants(ctx context.Context, organization task.ID) (bool, error) {
	now := time.Now()
	l.mu.Lock()
	k, ok := l.known[organization]
	l.mu.Unlock()
	if ok && now.Before(k.until) {
		return k.wants, nil
	}
	wants, err := l.organizations.LegacyEvents(ctx, organization)
	if isUnavailable(err) {
		return false, err
	}
	if err != nil { // an organization that can't be read still gets its events
		slog.ErrorContext(ctx, "organization can't be read", "organization_id", organization.String(), "error", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[organization] = knownLegacy{wants, now.Add(legacyKnown)}
	return wants, nil
}
