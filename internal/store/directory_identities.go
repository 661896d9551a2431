package store

import (
	"context"
	"errors"

	"baton/internal/directory"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CreateIdentity implements directory.Store.
func (d *Directory) CreateIdentity(ctx context.Context, i directory.Identity, most int) error {
	failed, err := d.transact(ctx,
		d.put(identityItem(handleKey(i.Handle), i), dirIsNew, nil),
		d.put(identityItem(identityKey(i.ID), i), dirIsNew, nil),
		d.put(memberKey(i.Organization.ID, identityMark, i.ID), "", nil),
		d.discover(i),
		d.oneMore(identitiesOwned(i.Organization.ID), most),
		d.oneMore(handlesOwned(i.Organization.ID), directory.MaxHandles),
	)
	switch {
	case failed == 0:
		return directory.ErrHandleTaken
	case failed == 4:
		return directory.ErrManyIdentities
	case failed == 5:
		return directory.ErrManyHandles
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
func (d *Directory) SaveIdentity(ctx context.Context, was, now directory.Identity, jobs ...directory.Job) error {
	return d.saveIdentity(ctx, was, now, d.newJobs(jobs)...)
}

// saveIdentity stores an edit with what else belongs to it.
func (d *Directory) saveIdentity(ctx context.Context, was, now directory.Identity, with ...types.TransactWriteItem) error {
	writes := []types.TransactWriteItem{
		d.put(identityItem(identityKey(now.ID), now), dirUnchanged, dirVersionIs(was.Version)),
		d.discover(now),
	}
	if now.Handle == was.Handle {
		writes = append(writes, d.put(identityItem(handleKey(now.Handle), now), dirUnchanged, dirVersionIs(was.Version)))
	} else {
		former := handleKey(was.Handle)
		former["i"] = dirText(now.ID.String())
		writes = append(writes,
			d.put(former, dirUnchanged, dirVersionIs(was.Version)),
			// A handle that it had before is still its own.
			d.put(identityItem(handleKey(now.Handle), now), dirIsNew+" or i = :i", dirItem{":i": dirText(now.ID.String())}),
			d.oneMore(handlesOwned(now.Organization.ID), directory.MaxHandles))
	}
	if now.Deleted && !was.Deleted {
		with = append(with, d.oneLess(identitiesOwned(now.Organization.ID)))
	}
	failed, err := d.transact(ctx, append(writes, with...)...)
	switch {
	case failed == 3 && now.Handle != was.Handle:
		return directory.ErrHandleTaken
	case failed == 4 && now.Handle != was.Handle:
		return directory.ErrManyHandles
	case failed >= 0:
		return directory.ErrStale
	}
	return err
}

// discover puts an identity among those that are found, or takes it away.
func (d *Directory) discover(i directory.Identity) types.TransactWriteItem {
	it := discoverKey(i.ID)
	if !i.Listed() {
		return types.TransactWriteItem{Delete: &types.Delete{TableName: &d.table, Key: it}}
	}
	it["q"] = dirText(i.SearchText())
	return d.put(it, "", nil)
}

// Identities implements directory.Store.
func (d *Directory) Identities(ctx context.Context, organization, after task.ID, limit int) (page []directory.Identity, more bool, err error) {
	listed, more, err := d.list(ctx, organizationMark+organization.String(), identityMark, afterMember(identityMark, after), limit)
	if err != nil {
		return nil, false, err
	}
	ids := make([]task.ID, len(listed))
	for n, it := range listed {
		ids[n], _ = memberID(it, identityMark)
	}
	page, err = d.identities(ctx, ids)
	return page, more, err
}

// identities reads many at once, in the order of their ids; those that aren't there are left out.
func (d *Directory) identities(ctx context.Context, ids []task.ID) (found []directory.Identity, err error) {
	keys := make([]dirItem, len(ids))
	for n, id := range ids {
		keys[n] = identityKey(id)
	}
	items, err := d.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		if it == nil {
			continue
		}
		i, err := parseIdentity(it)
		if err != nil {
			return nil, err
		}
		found = append(found, i)
	}
	return found, nil
}

func isNotFound(err error) bool { return errors.Is(err, directory.ErrNotFound) }
