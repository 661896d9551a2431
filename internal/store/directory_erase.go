package store

import (
	"context"

	"baton/internal/directory"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// EraseOrganization implements directory.Store. The organization's own item goes last: until then it can be begun again.
func (d *Directory) EraseOrganization(ctx context.Context, id task.ID) error {
	partition := organizationMark + id.String()
	err := d.eachOf(ctx, partition, identityMark, func(it dirItem) error {
		identity, _ := memberID(it, identityMark)
		return d.eraseIdentity(ctx, identity, memberKey(id, identityMark, identity))
	})
	if err != nil {
		return err
	}
	err = d.eachOf(ctx, partition, keyMark, func(it dirItem) error {
		hash, err := listedHash(it)
		if err != nil {
			return err
		}
		key, _ := memberID(it, keyMark)
		return d.erase(ctx, hashKey(hash), usageKey(key), memberKey(id, keyMark, key))
	})
	if err != nil {
		return err
	}
	err = d.eachHook(ctx, id, func(it dirItem) error { return d.erase(ctx, dirKey(dirTextOf(it["p"]), dirTextOf(it["s"]))) })
	if err != nil {
		return err
	}
	keys := []dirItem{organizationKey(id)}
	for _, counted := range ownedKinds {
		keys = append(keys, counted(id))
	}
	return d.erase(ctx, keys...)
}

// eraseIdentity leaves nothing of an agent but its handles, which stay taken.
func (d *Directory) eraseIdentity(ctx context.Context, id task.ID, listed dirItem) error {
	err := d.eachOf(ctx, identityMark+id.String(), connectionMark, func(it dirItem) error {
		connection, _ := memberID(it, connectionMark)
		keys := []dirItem{connectedKey(id, connection)}
		c, err := d.Connection(ctx, connection)
		switch {
		case err == nil:
			if c.State == directory.Pending { // the requester may be another's
				if err := d.erasePending(ctx, c); err != nil {
					return err
				}
			}
			keys = append(keys, connectionKey(connection))
			if c.State.Live() {
				keys = append(keys, pairKey(c.Requester.Identity, c.Target.Identity))
			}
		case !isNotFound(err):
			return err
		}
		return d.erase(ctx, keys...)
	})
	if err != nil {
		return err
	}
	i, err := d.Identity(ctx, directory.Ref{ID: id})
	if isNotFound(err) {
		return d.erase(ctx, listed)
	}
	if err != nil {
		return err
	}
	taken := handleKey(i.Handle)
	taken["i"] = dirText(id.String())
	if _, err := d.transact(ctx, d.put(taken, "", nil)); err != nil {
		return err
	}
	return d.erase(ctx, rulesKey(id), discoverKey(id), openKey(id), identityKey(id), listed)
}

// erasePending deletes a request that nobody decided, which counts as one less of its requester's: once, however often
// it is begun again.
func (d *Directory) erasePending(ctx context.Context, c directory.Connection) error {
	failed, err := d.transact(ctx,
		types.TransactWriteItem{Delete: &types.Delete{
			TableName: &d.table, Key: connectionKey(c.ID),
			ConditionExpression: aws.String(dirUnchanged), ExpressionAttributeValues: dirVersionIs(c.Version),
		}},
		d.oneLess(pendingOwned(c.Requester.Organization)),
	)
	if failed >= 0 {
		return directory.ErrStale
	}
	return err
}

// eachHook calls f for the items of an organization's hooks, and for those that tell of deleted ones.
func (d *Directory) eachHook(ctx context.Context, organization task.ID, f func(dirItem) error) error {
	if err := d.eachOf(ctx, hookMark+organization.String(), "", f); err != nil {
		return err
	}
	return d.eachOf(ctx, deletedHooks(organization), "", f)
}

// eachOf calls f for all items of a partition whose sort keys begin with a prefix.
func (d *Directory) eachOf(ctx context.Context, partition, prefix string, f func(dirItem) error) error {
	for after, more := "", true; more; {
		var page []dirItem
		var err error
		if page, more, err = d.list(ctx, partition, prefix, after, batchSize); err != nil {
			return err
		}
		for _, it := range page {
			after = dirTextOf(it["s"])
			if err := f(it); err != nil {
				return err
			}
		}
	}
	return nil
}

// erase deletes items, which may be gone already, in one transaction.
func (d *Directory) erase(ctx context.Context, keys ...dirItem) error {
	writes := make([]types.TransactWriteItem, len(keys))
	for n, k := range keys {
		writes[n] = types.TransactWriteItem{Delete: &types.Delete{TableName: &d.table, Key: k}}
	}
	_, err := d.transact(ctx, writes...)
	return err
}
