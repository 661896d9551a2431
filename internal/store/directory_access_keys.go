package store

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"time"

	"baton/internal/directory"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// newKey is the writes that store a key: under its hash, and, but for the operator's, in its organization's list.
func (d *Directory) newKey(k directory.Key) []types.TransactWriteItem {
	writes := []types.TransactWriteItem{d.put(keyItem(k, 1), dirIsNew, nil)}
	if k.Organization.IsZero() {
		return writes
	}
	return append(writes, d.put(listedKey(k), "", nil))
}

// listedKey is a key as its organization lists it.
func listedKey(k directory.Key) dirItem {
	listed := memberKey(k.Organization, keyMark, k.KeyID)
	listed["h"] = dirText(base64.RawURLEncoding.EncodeToString(k.Hash[:]))
	if !k.RevokedAt.IsZero() {
		listed["r"] = dirNumber(dirMillis(k.RevokedAt))
	}
	return expiring(k, listed)
}

// CreateKey implements directory.Store.
func (d *Directory) CreateKey(ctx context.Context, k directory.Key, most int, others ...directory.Hash) error {
	writes := d.newKey(k)
	for _, h := range others {
		writes = append(writes, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: &d.table, Key: hashKey(h), ConditionExpression: aws.String(dirIsNew),
		}})
	}
	if !k.Organization.IsZero() {
		writes = append(writes, d.oneMore(keysOwned(k.Organization), most))
	}
	for first := true; ; first = false {
		failed, err := d.transact(ctx, writes...)
		switch {
		case failed < 0:
			return err
		case k.Organization.IsZero() || failed < len(writes)-1:
			return directory.ErrExists
		}
		again := false
		if first {
			again, err = d.recountKeys(ctx, k.Organization, k.CreatedAt)
		}
		if err != nil || !again {
			return cmp.Or(err, directory.ErrManyKeys)
		}
	}
}

// KeyByHash implements directory.Store.
func (d *Directory) KeyByHash(ctx context.Context, h directory.Hash) (directory.Key, error) {
	it, err := d.get(ctx, hashKey(h))
	if err != nil {
		return directory.Key{}, err
	}
	k, _, err := parseKey(it, h)
	return k, err
}

// RevokeKey implements directory.Store.
func (d *Directory) RevokeKey(ctx context.Context, organization, id task.ID, at time.Time) error {
	listed, err := d.get(ctx, memberKey(organization, keyMark, id))
	if err != nil {
		return err
	}
	hash, err := listedHash(listed)
	if err != nil {
		return err
	}
	return d.RevokeHash(ctx, hash, at)
}

// RevokeHash implements directory.Store.
func (d *Directory) RevokeHash(ctx context.Context, hash directory.Hash, at time.Time) error {
	it, err := d.get(ctx, hashKey(hash))
	if err != nil {
		return err
	}
	k, version, err := parseKey(it, hash)
	if err != nil || !k.RevokedAt.IsZero() {
		return err
	}
	worked := k.Good(at)
	k.RevokedAt = at
	writes := []types.TransactWriteItem{d.put(keyItem(k, version+1), dirUnchanged, dirVersionIs(version))}
	if !k.Organization.IsZero() {
		writes = append(writes, d.put(listedKey(k), "", nil))
		if worked { // one that expired is counted until they are counted anew, and not after
			writes = append(writes, d.oneLess(keysOwned(k.Organization)))
		}
	}
	// Only revoking changes a key: who is slower finds it done.
	_, err = d.transact(ctx, writes...)
	return err
}

// Keys implements directory.Store.
func (d *Directory) Keys(ctx context.Context, organization, after task.ID, limit int) (page []directory.Key, last task.ID, err error) {
	listed, more, err := d.list(ctx, organizationMark+organization.String(), keyMark, afterMember(keyMark, after), limit)
	if err != nil {
		return nil, task.ID{}, err
	}
	hashes := make([]directory.Hash, len(listed))
	var keys []dirItem
	for n, it := range listed {
		if hashes[n], err = listedHash(it); err != nil {
			return nil, task.ID{}, err
		}
		last, _ = memberID(it, keyMark)
		keys = append(keys, hashKey(hashes[n]), usageKey(last))
	}
	if !more {
		last = task.ID{}
	}
	items, err := d.getAll(ctx, keys)
	if err != nil {
		return nil, task.ID{}, err
	}
	for n, hash := range hashes {
		if items[2*n] == nil {
			continue
		}
		k, _, err := parseKey(items[2*n], hash)
		if err != nil {
			return nil, task.ID{}, err
		}
		k.LastUsedAt = dirTime(dirNumberOf(items[2*n+1]["u"]))
		page = append(page, k)
	}
	return page, last, nil
}

// touchEvery is how long a noted use stands for the next ones.
const touchEvery = time.Hour

// TouchKey implements directory.Store.
func (d *Directory) TouchKey(ctx context.Context, id task.ID, at time.Time) error {
	_, err := d.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &d.table, Key: usageKey(id),
		UpdateExpression:    aws.String("set u = :now, " + attrSchema + " = :schema"),
		ConditionExpression: aws.String("attribute_not_exists(u) or u < :before"),
		ExpressionAttributeValues: dirItem{
			":schema": number(schema), ":now": dirNumber(at.UnixMilli()), ":before": dirNumber(at.Add(-touchEvery).UnixMilli()),
		},
	})
	var noted *types.ConditionalCheckFailedException
	if errors.As(err, &noted) {
		return nil
	}
	if err != nil {
		return sdkError(err, "note use of key %s", id)
	}
	return nil
}

func listedHash(it dirItem) (h directory.Hash, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(dirTextOf(it["h"]))
	if err == nil && len(raw) != len(h) {
		err = errors.New("store: listed key without a hash")
	}
	copy(h[:], raw)
	return h, err
}
