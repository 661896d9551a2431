package store

import (
	"context"

	"baton/internal/directory"
	"baton/internal/task"
)

// CreateOrganization implements directory.Store.
func (d *Directory) CreateOrganization(ctx context.Context, o directory.Organization, first directory.Key, jobs ...directory.Job) error {
	counted := keysOwned(o.ID)
	counted["n"] = dirNumber(1)
	writes := append(d.newKey(first), d.put(organizationItem(o), dirIsNew, nil), d.put(counted, "", nil))
	writes = append(writes, d.newJobs(jobs)...)
	failed, err := d.transact(ctx, writes...)
	if failed >= 0 {
		return directory.ErrExists
	}
	return err
}

// Organization implements directory.Store.
func (d *Directory) Organization(ctx context.Context, id task.ID) (directory.Organization, error) {
	it, err := d.get(ctx, organizationKey(id))
	if err != nil {
		return directory.Organization{}, err
	}
	return parseOrganization(it)
}

// SaveOrganization implements directory.Store.
func (d *Directory) SaveOrganization(ctx context.Context, was, now directory.Organization, jobs ...directory.Job) error {
	writes := append(d.newJobs(jobs), d.put(organizationItem(now), dirUnchanged, dirVersionIs(was.Version)))
	failed, err := d.transact(ctx, writes...)
	if failed >= 0 {
		return directory.ErrStale
	}
	return err
}

// LegacyEvents says whether an organization wants the older event type too; not when there is no such organization.
func (d *Directory) LegacyEvents(ctx context.Context, id task.ID) (bool, error) {
	o, err := d.Organization(ctx, id)
	if isNotFound(err) {
		return false, nil
	}
	return o.LegacyEvents, err
}
