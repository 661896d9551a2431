package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"baton/internal/directory"
	"baton/internal/task"
	"baton/internal/webhook"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var _ webhook.HookStore = (*Directory)(nil)

const hookMark = "W#"

func hookKey(organization, id task.ID) dirItem {
	return dirKey(hookMark+organization.String(), id.String())
}

// deletedHooks is the partition of an organization's hooks that are no more.
func deletedHooks(organization task.ID) string { return hookMark + organization.String() + "#deleted" }

type hookRecord struct {
	ID            string           `json:"id"`
	Organization  string           `json:"organization"`
	URL           string           `json:"url"`
	Events        []task.EventType `json:"events"`
	Identity      string           `json:"identity,omitempty"`
	Enabled       bool             `json:"enabled,omitempty"`
	Disabled      webhook.Reason   `json:"disabled,omitempty"`
	FailingSince  int64            `json:"failing,omitempty"`
	Enablings     int              `json:"enablings"`
	Secret        string           `json:"secret"` // what signs must be known whole
	Previous      string           `json:"previous,omitempty"`
	PreviousUntil int64            `json:"previousUntil,omitempty"`
	Rotated       string           `json:"rotated,omitempty"`
	CreatedAt     int64            `json:"created"`
	UpdatedAt     int64            `json:"updated"`
}

func hookItem(h webhook.Hook) dirItem {
	r := hookRecord{
		ID: h.ID.String(), Organization: h.Organization.String(), URL: h.URL, Events: h.Events, Enabled: h.Enabled,
		Disabled: h.Disabled, FailingSince: dirMillis(h.FailingSince), Enablings: h.Enablings, Secret: h.Keys.Current.Reveal(),
		PreviousUntil: dirMillis(h.Keys.PreviousUntil), Rotated: h.Keys.Rotated, CreatedAt: dirMillis(h.CreatedAt), UpdatedAt: dirMillis(h.UpdatedAt),
	}
	if !h.Identity.IsZero() {
		r.Identity = h.Identity.String()
	}
	if !h.Keys.Previous.IsZero() {
		r.Previous = h.Keys.Previous.Reveal()
	}
	return dirRecord(hookKey(h.Organization, h.ID), h.Version, r)
}

func parseHook(it dirItem) (webhook.Hook, error) {
	var r hookRecord
	version, err := parseRecord(it, &r)
	id, ok := task.ParseID(r.ID)
	organization, known := task.ParseID(r.Organization)
	if err != nil || !ok || !known {
		return webhook.Hook{}, malformed("webhook", r.ID, err)
	}
	h := webhook.Hook{
		ID: id, Organization: organization, URL: r.URL, Events: r.Events, Enabled: r.Enabled, Disabled: r.Disabled,
		FailingSince: dirTime(r.FailingSince), Enablings: r.Enablings, CreatedAt: dirTime(r.CreatedAt), UpdatedAt: dirTime(r.UpdatedAt), Version: version,
	}
	h.Identity, _ = task.ParseID(r.Identity)
	if h.Keys.Current, err = webhook.ParseSecret(r.Secret); err != nil {
		return webhook.Hook{}, fmt.Errorf("store: webhook %s: malformed secret", r.ID)
	}
	h.Keys.Rotated = r.Rotated
	if r.Previous != "" {
		if h.Keys.Previous, err = webhook.ParseSecret(r.Previous); err != nil {
			return webhook.Hook{}, fmt.Errorf("store: webhook %s: malformed secret", r.ID)
		}
		h.Keys.PreviousUntil = dirTime(r.PreviousUntil)
	}
	return h, nil
}

// CreateHook implements webhook.HookStore.
func (d *Directory) CreateHook(ctx context.Context, h webhook.Hook) error {
	failed, err := d.transact(ctx, d.put(hookItem(h), dirIsNew, nil))
	if err == nil && failed >= 0 {
		err = webhook.ErrStale
	}
	return err
}

// Hook implements webhook.HookStore.
func (d *Directory) Hook(ctx context.Context, organization, id task.ID) (webhook.Hook, error) {
	it, err := d.get(ctx, hookKey(organization, id))
	if errors.Is(err, directory.ErrNotFound) {
		return webhook.Hook{}, webhook.ErrNotFound
	}
	if err != nil {
		return webhook.Hook{}, err
	}
	return parseHook(it)
}

// SaveHook implements webhook.HookStore.
func (d *Directory) SaveHook(ctx context.Context, was, now webhook.Hook) error {
	now.Version = was.Version + 1
	failed, err := d.transact(ctx, d.put(hookItem(now), dirUnchanged, dirVersionIs(was.Version)))
	if err == nil && failed >= 0 {
		err = webhook.ErrStale
	}
	return err
}

// DeleteHook implements webhook.HookStore. For as long as its deliveries are kept it is noted that there was one, so that
// they can be erased with the organization.
func (d *Directory) DeleteHook(ctx context.Context, organization, id task.ID, at time.Time) error {
	noted := dirKey(deletedHooks(organization), id.String())
	noted[attrExpires] = number(at.Add(task.EventsKept).Unix())
	_, err := d.transact(ctx, types.TransactWriteItem{Delete: &types.Delete{
		TableName: &d.table, Key: hookKey(organization, id),
	}}, d.put(noted, "", nil))
	return err
}

// Hooks implements webhook.HookStore.
func (d *Directory) Hooks(ctx context.Context, organization task.ID) ([]webhook.Hook, error) {
	var hooks []webhook.Hook
	for after, more := "", true; more; {
		// Those that are made at the same moment may be more than MaxHooks.
		var items []dirItem
		var err error
		items, more, err = d.list(ctx, hookMark+organization.String(), "", after, 2*webhook.MaxHooks)
		if err != nil {
			return nil, err
		}
		for _, it := range items {
			h, err := parseHook(it)
			if err != nil {
				return nil, err
			}
			hooks, after = append(hooks, h), h.ID.String()
		}
	}
	slices.SortFunc(hooks, func(a, b webhook.Hook) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	return hooks, nil
}
