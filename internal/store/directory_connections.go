package store

import (
	"context"

	"baton/internal/directory"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type connectionRecord struct {
	ID        string      `json:"id"`
	Requester partyRecord `json:"requester"`
	Target    partyRecord `json:"target"`
	State     string      `json:"state"`
	Note      string      `json:"note,omitempty"`
	CreatedAt int64       `json:"created"`
	UpdatedAt int64       `json:"updated"`
}

type partyRecord struct {
	Identity     string `json:"identity"`
	Organization string `json:"organization"`
	Handle       string `json:"handle"`
}

func newPartyRecord(p task.Party) partyRecord {
	return partyRecord{p.Identity.String(), p.Organization.String(), p.Handle}
}

func (r partyRecord) party() task.Party {
	identity, _ := task.ParseID(r.Identity)
	organization, _ := task.ParseID(r.Organization)
	return task.Party{Identity: identity, Organization: organization, Handle: r.Handle}
}

func connectionItem(c directory.Connection) dirItem {
	return dirRecord(connectionKey(c.ID), c.Version, connectionRecord{
		c.ID.String(), newPartyRecord(c.Requester), newPartyRecord(c.Target), string(c.State), c.Note,
		dirMillis(c.CreatedAt), dirMillis(c.UpdatedAt),
	})
}

func parseConnection(it dirItem) (directory.Connection, error) {
	var r connectionRecord
	version, err := parseRecord(it, &r)
	id, ok := task.ParseID(r.ID)
	if err != nil || !ok {
		return directory.Connection{}, malformed("connection", r.ID, err)
	}
	return directory.Connection{
		ID: id, Requester: r.Requester.party(), Target: r.Target.party(), State: directory.ConnectionState(r.State),
		Note: r.Note, CreatedAt: dirTime(r.CreatedAt), UpdatedAt: dirTime(r.UpdatedAt), Version: version,
	}, nil
}

// pairItem is a pair's place as a connection takes it.
func pairItem(c directory.Connection) dirItem {
	it := pairKey(c.Requester.Identity, c.Target.Identity)
	it["c"], it["a"] = dirText(c.ID.String()), dirText(string(c.State))
	return it
}

// CreateConnection implements directory.Store.
func (d *Directory) CreateConnection(ctx context.Context, c directory.Connection) error {
	failed, err := d.transact(ctx,
		d.put(pairItem(c), dirIsNew, nil),
		d.put(connectionItem(c), dirIsNew, nil),
		d.put(connectedKey(c.Requester.Identity, c.ID), "", nil),
		d.put(connectedKey(c.Target.Identity, c.ID), "", nil),
		d.oneMore(pendingOwned(c.Requester.Organization), directory.MaxPending),
	)
	switch {
	case failed == 4:
		return directory.ErrManyRequests
	case failed >= 0:
		return directory.ErrExists
	}
	return err
}

// LiveConnection implements directory.Store.
func (d *Directory) LiveConnection(ctx context.Context, a, b task.ID) (directory.Connection, error) {
	it, err := d.get(ctx, pairKey(a, b))
	if err != nil {
		return directory.Connection{}, err
	}
	id, _ := task.ParseID(dirTextOf(it["c"]))
	return d.Connection(ctx, id)
}

// Connection implements directory.Store.
func (d *Directory) Connection(ctx context.Context, id task.ID) (directory.Connection, error) {
	it, err := d.get(ctx, connectionKey(id))
	if err != nil {
		return directory.Connection{}, err
	}
	return parseConnection(it)
}

// SaveConnection implements directory.Store.
func (d *Directory) SaveConnection(ctx context.Context, was, now directory.Connection) error {
	place := d.put(pairItem(now), "c = :c", dirItem{":c": dirText(now.ID.String())})
	if !now.State.Live() {
		place = types.TransactWriteItem{Delete: &types.Delete{
			TableName: &d.table, Key: pairKey(now.Requester.Identity, now.Target.Identity),
			ConditionExpression: aws.String("c = :c"), ExpressionAttributeValues: dirItem{":c": dirText(now.ID.String())},
		}}
	}
	writes := []types.TransactWriteItem{d.put(connectionItem(now), dirUnchanged, dirVersionIs(was.Version)), place}
	if was.State == directory.Pending {
		writes = append(writes, d.oneLess(pendingOwned(now.Requester.Organization)))
	}
	failed, err := d.transact(ctx, writes...)
	if failed >= 0 {
		return directory.ErrStale
	}
	return err
}

// Connections implements directory.Store.
func (d *Directory) Connections(
	ctx context.Context, identity, after task.ID, limit int,
) (page []directory.Connection, last task.ID, err error) {
	in := dynamodb.QueryInput{
		TableName: &d.table, ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(false), Limit: aws.Int32(int32(limit)),
		KeyConditionExpression: aws.String("p = :p and begins_with(s, :s)"),
		ExpressionAttributeValues: dirItem{
			":p": dirText(identityMark + identity.String()), ":s": dirText(connectionMark),
		},
	}
	if !after.IsZero() {
		in.ExclusiveStartKey = connectedKey(identity, after)
	}
	out, err := d.db.Query(ctx, &in)
	if err != nil {
		return nil, task.ID{}, sdkError(err, "list connections of %s", identity)
	}
	keys := make([]dirItem, len(out.Items))
	for n, it := range out.Items {
		last, _ = memberID(it, connectionMark)
		keys[n] = connectionKey(last)
	}
	items, err := d.getAll(ctx, keys)
	if err != nil {
		return nil, task.ID{}, err
	}
	for _, it := range items {
		if it == nil {
			continue // the other's organization was purged
		}
		c, err := parseConnection(it)
		if err != nil {
			return nil, task.ID{}, err
		}
		page = append(page, c)
	}
	if out.LastEvaluatedKey == nil {
		last = task.ID{}
	}
	return page, last, nil
}
