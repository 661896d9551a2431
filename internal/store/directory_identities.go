package store

import (
	"context"
	"errors"

	"baton/internal/directory"
	"baton/internal/task"
)

// CreateIdentity implements directory.Store.
func (d *Directory) CreateIdentity(ctx context.Context, i directory.Identity) error {
	failed, err := d.transact(ctx,
		d.put(identityItem(handleKey(i.Handle), i), dirIsNew, nil),
		d.put(identityItem(identityKey(i.ID), i), dirIsNew, nil),
		d.put(memberKey(i.Organization.ID, identityMark, i.ID), "", nil),
	)
	switch {
	case failed == 0:
		return directory.ErrHandleTaken
	case failed > 0:
		return task.ErrConflict
	}
	return err
}

// Identity implements directory.Store: one read, two for a handle that the identity had before.
func (d *Directory) Identity(ctx context.Context, ref directory.Ref) (directory.Identity, error) {
	key := identityKey(ref.ID)
	if ref.Handle != "" {
		key = handleKey(ref.Handle)
	}
	it, err := d.get(ctx, key)
	if err != nil {
		return directory.Identity{}, err
	}
	if now, ok := task.ParseID(dirTextOf(it["i"])); ok {
		if it, err = d.get(ctx, identityKey(now)); err != nil {
			return directory.Identity{}, err
		}
	}
	return parseIdentity(it)
}

// SaveIdentity implements directory.Store.
func (d *Directory) SaveIdentity(ctx context.Context, was, now directory.Identity) error {
	byID := d.put(identityItem(identityKey(now.ID), now), dirUnchanged, dirVersionIs(was.Version))
	if now.Handle == was.Handle {
		failed, err := d.transact(ctx, byID,
			d.put(identityItem(handleKey(now.Handle), now), dirUnchanged, dirVersionIs(was.Version)))
		if failed >= 0 {
			return directory.ErrStale
		}
		return err
	}
	former := handleKey(was.Handle)
	former["i"] = dirText(now.ID.String())
	failed, err := d.transact(ctx, byID,
		d.put(former, dirUnchanged, dirVersionIs(was.Version)),
		// A handle that it had before is still its own.
		d.put(identityItem(handleKey(now.Handle), now), dirIsNew+" or i = :i", dirItem{":i": dirText(now.ID.String())}))
	switch {
	case failed == 2:
		return directory.ErrHandleTaken
	case failed >= 0:
		return directory.ErrStale
	}
	return err
}

// Identities implements directory.Store.
func (d *Directory) Identities(ctx context.Context, organization, after task.ID, limit int) (page []directory.Identity, more bool, err error) {
	listed, more, err := d.list(ctx, organizationMark+organization.String(), identityMark, afterMember(identityMark, after), limit)
	if err != nil {
		return nil, false, err
	}
	keys := make([]dirItem, len(listed))
	for n, it := range listed {
		id, _ := memberID(it, identityMark)
		keys[n] = identityKey(id)
	}
	items, err := d.getAll(ctx, keys)
	if err != nil {
		return nil, false, err
	}
	for _, it := range items {
		if it == nil {
			continue
		}
		i, err := parseIdentity(it)
		if err != nil {
			return nil, false, err
		}
		page = append(page, i)
	}
	return page, more, nil
}

func isNotFound(err error) bool { return errors.Is(err, directory.ErrNotFound) }
