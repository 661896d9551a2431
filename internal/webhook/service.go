package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"baton/internal/task"
)

// ErrNotFound says that there is no such hook or delivery of this organization.
var ErrNotFound = errors.New("webhook: not found")

// ErrStale says that another write was faster.
var ErrStale = errors.New("webhook: another write was faster")

// HookStore keeps hooks. All methods are safe for concurrent use and return a task.ErrUnavailable (wrapped) when storage
// can't be reached or throttles.
type HookStore interface {
	// CreateHook stores a new hook: ErrStale when one of its id is there.
	CreateHook(ctx context.Context, h Hook) error
	// Hook reads one as of the latest write. ErrNotFound.
	Hook(ctx context.Context, organization, id task.ID) (Hook, error)
	// SaveHook stores an edit under the condition that was is still what is stored: ErrStale.
	SaveHook(ctx context.Context, was, now Hook) error
	// DeleteHook removes a hook; one that is gone already is none the less deleted.
	DeleteHook(ctx context.Context, organization, id task.ID, at time.Time) error
	// Hooks lists all of an organization's, oldest first.
	Hooks(ctx context.Context, organization task.ID) ([]Hook, error)
}

// DeliveryStore keeps deliveries for 30 days. As for HookStore.
type DeliveryStore interface {
	// Delivery reads one as of the latest write. ErrNotFound, also for an id that is of none of the hook's.
	Delivery(ctx context.Context, hook, id task.ID) (Delivery, error)
	// SaveDelivery stores a delivery under the condition that the one of d's Version is still there: ErrStale. A save whose
	// own answer was lost is a success. d is of the organization, in whose log its event is.
	SaveDelivery(ctx context.Context, organization task.ID, d Delivery) error
	// Deliveries is a page of a hook's, newest event first, from before the given place, 0 for the first page; next is 0 on
	// the last one.
	Deliveries(ctx context.Context, hook task.ID, before int64, limit int) (page []Delivery, next int64, err error)
}

// Job is one try of a delivery that is to be made.
type Job struct {
	Organization task.ID
	Hook         task.ID
	Event        task.ID
	Type         task.EventType // as the hook wants to be told
	Sequence     int64
	Tries        int // made before this one
}

// Queue hands jobs to the worker.
type Queue interface {
	// Put queues jobs, each to come after the delay, at most LongestHop. An error means that some may not be queued.
	Put(ctx context.Context, delay time.Duration, jobs ...Job) error
}

// MaxHooks is how many hooks an organization may have: every one of them is looked at for every event.
const MaxHooks = 50

// ErrTooMany says that the organization has MaxHooks hooks.
var ErrTooMany = errors.New("webhook: the organization has as many hooks as it may")

// MaxAtHost is how many times the hooks of an organization at one host and port are told of the same event: without a bound
// an organization could have everything it does sent 50 times to a receiver that never asked for it. A receiver that has a
// path for each of its teams or stages has use for more than one.
const MaxAtHost = 5

// ErrTooManyAtHost says that MaxAtHost of the organization's hooks are told of the same event at that host.
var ErrTooManyAtHost = errors.New("webhook: too many hooks at one host")

// crowded says whether, with h in its place among all hooks of its organization, one event would be told of more than
// MaxAtHost times at its host, by disabled ones included: they can be enabled at any time.
func crowded(all []Hook, h Hook) bool {
	h.Enabled = true
	there := []Hook{h}
	for _, other := range all {
		if other.ID != h.ID && hostOf(other.URL) == hostOf(h.URL) {
			there = append(there, other)
		}
	}
	for _, event := range task.EventTypes {
		told, most := map[task.ID]int{}, 0 // under zero by those that are told of every identity's
		for _, hook := range there {
			hook.Enabled = true
			told[hook.Identity] += len(hook.Types(event, hook.Identity, true))
		}
		for identity, n := range told {
			if !identity.IsZero() {
				most = max(most, n)
			}
		}
		if told[task.ID{}]+most > MaxAtHost && len(h.Types(event, h.Identity, true)) > 0 {
			return true
		}
	}
	return false
}

// hostOf is the host and port of a checked URL.
func hostOf(checked string) string {
	u, err := url.Parse(checked)
	if err != nil {
		return checked
	}
	return strings.ToLower(u.Hostname()) + ":" + cmp.Or(u.Port(), "443")
}

// Service is what an organization does with its hooks. All methods are safe for concurrent use.
type Service struct {
	hooks      HookStore
	deliveries DeliveryStore
	queue      Queue
	addresses  Addresses
	now        func() time.Time
}

// NewService returns a service.
func NewService(hooks HookStore, deliveries DeliveryStore, queue Queue, addresses Addresses, now func() time.Time) *Service {
	return &Service{hooks, deliveries, queue, addresses, now}
}

// Edit is what may be said of a hook. Nil fields are left as they are.
type Edit struct {
	URL      *string
	Events   *[]string
	Identity *task.ID // zero for every identity
	Enabled  *bool
	Once     string // of the making alone: the caller's own id for it, empty for none
}

// onceTells is for how long a secret is told again to who makes or rotates it again: longer than anybody retries, as for
// keys.
const onceTells = 24 * time.Hour

// untold is a hook without the secrets that are told once.
func (h Hook) untold() Hook {
	h.Keys.Current, h.Keys.Previous = Secret{}, Secret{}
	return h
}

// again is what a repetition of a hook's making is told of it: its secret for a day, and while it is the one that was made
// with it.
func (s *Service) again(h Hook) Hook {
	if s.clock().Sub(h.CreatedAt) > onceTells || !h.Keys.Previous.IsZero() {
		return h.untold()
	}
	return h
}

// Create makes a hook with a new secret, or returns the one that was made with the same Once, as it stands now; with its
// secret for a day and while it was not rotated, later with a zero one. Errors: a task.Invalid, ErrTooMany, ErrTooManyAtHost,
// task.ErrUnavailable.
func (s *Service) Create(ctx context.Context, organization task.ID, e Edit) (Hook, error) {
	var missing task.Invalid
	if e.URL == nil {
		missing = append(missing, task.FieldError{Field: "url", Message: "is required"})
	}
	if e.Events == nil {
		missing = append(missing, task.FieldError{Field: "events", Message: "is required"})
	}
	if missing != nil {
		return Hook{}, missing
	}
	there, err := s.hooks.Hooks(ctx, organization)
	if err != nil {
		return Hook{}, err
	}
	id := task.NewID()
	if e.Once != "" {
		id = onceID(organization, e.Once)
		if made := slices.IndexFunc(there, func(h Hook) bool { return h.ID == id }); made >= 0 {
			return s.again(there[made]), nil
		}
	}
	if len(there) >= MaxHooks {
		return Hook{}, ErrTooMany
	}
	now := s.clock()
	h := Hook{
		ID: id, Organization: organization, Enabled: true, Enablings: 1, Keys: Keys{Current: NewSecret()},
		CreatedAt: now, UpdatedAt: now, Version: 1,
	}
	if h, err = s.apply(ctx, h, e); err != nil {
		return Hook{}, err
	}
	if crowded(there, h) {
		return Hook{}, ErrTooManyAtHost
	}
	if err := s.hooks.CreateHook(ctx, h); errors.Is(err, ErrStale) {
		made, err := s.hooks.Hook(ctx, organization, id) // a retry that ran beside was faster
		return s.again(made), err
	} else if err != nil {
		return Hook{}, err
	}
	// Others may have been made since they were counted. None of those stays that sees one too many.
	if there, err = s.hooks.Hooks(ctx, organization); err == nil {
		var refused error
		switch {
		case len(there) > MaxHooks:
			refused = ErrTooMany
		case crowded(there, h):
			refused = ErrTooManyAtHost
		}
		if refused != nil {
			err = cmp.Or(s.hooks.DeleteHook(ctx, organization, h.ID, s.clock()), refused)
		}
	}
	if err != nil {
		return Hook{}, err
	}
	return h, nil
}

// onceID is the id of the hook that an organization makes with an id of its own.
func onceID(organization task.ID, once string) (id task.ID) {
	h := sha256.New()
	h.Write([]byte("baton webhook once 1\x00"))
	h.Write(organization[:])
	h.Write([]byte(once))
	copy(id[:], h.Sum(nil))
	return id.Derived()
}

// Hook reads one of the organization's hooks. Errors: ErrNotFound, task.ErrUnavailable.
func (s *Service) Hook(ctx context.Context, organization, id task.ID) (Hook, error) {
	return s.hooks.Hook(ctx, organization, id)
}

// Hooks lists the organization's hooks, oldest first.
func (s *Service) Hooks(ctx context.Context, organization task.ID) ([]Hook, error) {
	return s.hooks.Hooks(ctx, organization)
}

// Edit changes a hook. Errors: ErrNotFound, a task.Invalid, ErrTooManyAtHost, task.ErrConflict, task.ErrUnavailable.
func (s *Service) Edit(ctx context.Context, organization, id task.ID, e Edit) (Hook, error) {
	var was Hook
	now, err := s.change(ctx, organization, id, func(h Hook) (Hook, error) {
		was = h
		now, err := s.apply(ctx, h, e)
		if err == nil && moved(was, now) {
			err = s.hasRoom(ctx, now)
		}
		return now, err
	})
	if err != nil || !moved(was, now) {
		return now, err
	}
	// Others may have come there meanwhile. None of those stays that sees one too many.
	if err := s.hasRoom(ctx, now); err != nil {
		back := now
		back.URL, back.Identity, back.Events = was.URL, was.Identity, was.Events
		return Hook{}, cmp.Or(s.hooks.SaveHook(ctx, now, back), err)
	}
	return now, nil
}

func moved(was, now Hook) bool {
	return was.URL != now.URL || was.Identity != now.Identity || !slices.Equal(was.Events, now.Events)
}

func (s *Service) hasRoom(ctx context.Context, h Hook) error {
	all, err := s.hooks.Hooks(ctx, h.Organization)
	if err == nil && crowded(all, h) {
		err = ErrTooManyAtHost
	}
	return err
}

// Rotate gives a hook a new secret; the one before signs too for a day. With the id once of the latest rotation it changes
// nothing: a retry must not push out the secret that the receiver still has. It is told that secret for a day, later a zero
// one. Errors as for Edit.
func (s *Service) Rotate(ctx context.Context, organization, id task.ID, once string) (Hook, error) {
	mark := ""
	if once != "" {
		mark = onceID(organization, once).String()
	}
	h, err := s.change(ctx, organization, id, func(h Hook) (Hook, error) {
		if mark != "" && h.Keys.Rotated == mark {
			return h, nil
		}
		h.Keys = h.Keys.Rotate(s.clock())
		h.Keys.Rotated = mark
		return h, nil
	})
	// PreviousUntil is a day after the rotation.
	if err == nil && s.clock().Sub(h.Keys.PreviousUntil.Add(-bothSign)) > onceTells {
		h = h.untold()
	}
	return h, err
}

// Delete removes a hook; what is under way to it is given up. Errors: ErrNotFound, task.ErrUnavailable.
func (s *Service) Delete(ctx context.Context, organization, id task.ID) error {
	if _, err := s.hooks.Hook(ctx, organization, id); err != nil {
		return err
	}
	return s.hooks.DeleteHook(ctx, organization, id, s.clock())
}

// Deliveries is a page of what was and is sent to a hook; see DeliveryStore. Errors: ErrNotFound, task.ErrUnavailable.
func (s *Service) Deliveries(ctx context.Context, organization, hook task.ID, before int64, limit int) ([]Delivery, int64, error) {
	if _, err := s.hooks.Hook(ctx, organization, hook); err != nil {
		return nil, 0, err
	}
	return s.deliveries.Deliveries(ctx, hook, before, limit)
}

// Redeliver has a delivery sent once more, with all its tries, whatever became of it. Errors: ErrNotFound,
// task.ErrConflict, task.ErrUnavailable.
func (s *Service) Redeliver(ctx context.Context, organization, hook, id task.ID) (Delivery, error) {
	if _, err := s.hooks.Hook(ctx, organization, hook); err != nil {
		return Delivery{}, err
	}
	for range maxRaces {
		d, err := s.deliveries.Delivery(ctx, hook, id)
		if err != nil {
			return Delivery{}, err
		}
		d = d.Again(s.clock())
		switch err := s.deliveries.SaveDelivery(ctx, organization, d); {
		case errors.Is(err, ErrStale):
			continue
		case err != nil:
			return Delivery{}, err
		}
		d.Version++
		return d, s.queue.Put(ctx, 0, d.job(organization))
	}
	return Delivery{}, task.ErrConflict
}

func (d Delivery) job(organization task.ID) Job {
	return Job{organization, d.Hook, d.Event, d.Type, d.Sequence, d.Tries}
}

// maxRaces is how often a write is tried again that lost to another.
const maxRaces = 10

func (s *Service) change(ctx context.Context, organization, id task.ID, edit func(Hook) (Hook, error)) (Hook, error) {
	for range maxRaces {
		was, err := s.hooks.Hook(ctx, organization, id)
		if err != nil {
			return Hook{}, err
		}
		now, err := edit(was)
		if err != nil {
			return Hook{}, err
		}
		now.UpdatedAt = s.clock()
		switch err := s.hooks.SaveHook(ctx, was, now); {
		case errors.Is(err, ErrStale):
		case err != nil:
			return Hook{}, err
		default:
			now.Version = was.Version + 1
			return now, nil
		}
	}
	return Hook{}, task.ErrConflict
}

func (s *Service) apply(ctx context.Context, h Hook, e Edit) (Hook, error) {
	var bad task.Invalid
	var err error
	wrong := func(err error) error {
		var invalid task.Invalid
		if errors.As(err, &invalid) {
			bad = append(bad, invalid...)
			return nil
		}
		return err
	}
	if e.Events != nil {
		var types []task.EventType
		if types, err = ParseEvents(*e.Events); err != nil && wrong(err) != nil {
			return Hook{}, err
		}
		h.Events = types
	}
	if e.URL != nil {
		var url string
		if url, err = s.addresses.Check(ctx, *e.URL); err != nil && wrong(err) != nil {
			return Hook{}, err
		}
		h.URL = url
	}
	if e.Identity != nil {
		h.Identity = *e.Identity
	}
	if bad != nil {
		return Hook{}, bad
	}
	if e.Enabled != nil {
		h = h.Enable(*e.Enabled, s.clock())
	}
	return h, nil
}

func (s *Service) clock() time.Time { return s.now().UTC().Truncate(time.Millisecond) }

// String names a job for the log.
func (j Job) String() string {
	return fmt.Sprintf("delivery %s to hook %s", DeliveryID(j.Hook, j.Sequence, j.Type), j.Hook)
}
