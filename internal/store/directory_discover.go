package store

import (
	"context"
	"fmt"

	"baton/internal/directory"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const (
	// discoverLook is how many agents one query looks at when it searches: 200 texts of 1 KB are 25 read units.
	discoverLook = 200
	// discoverQueries bounds what a page costs: then it ends early, with a position to go on from.
	discoverQueries = 2 * discoverShards
)

// Listed implements directory.Store. It walks shard by shard, beginning with the one that q.Spread tells. Agents come in
// no order that means anything. It may miss writes of the last second.
func (d *Directory) Listed(ctx context.Context, q directory.DiscoverQuery) (found []directory.Identity, next []byte, err error) {
	at, err := parsePosition(q.After)
	if err != nil {
		return nil, nil, err
	}
	var ids []task.ID
	for range discoverQueries {
		if at.step == discoverShards || len(ids) == q.Limit {
			break
		}
		partition := discoverPartition((int(q.Spread) + at.step) % discoverShards)
		page, last, err := d.discoverPage(ctx, partition, at.after, q.Words, q.Limit-len(ids))
		if err != nil {
			return nil, nil, err
		}
		ids = append(ids, page...)
		if at.after = last; last.IsZero() {
			at.step++
		}
	}
	if at.step < discoverShards {
		next = at.bytes()
	}
	found, err = d.identities(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	return found, next, d.fillOrganizations(ctx, found)
}

// discoverPage looks at one shard. last is where to go on from, zero at the shard's end.
func (d *Directory) discoverPage(ctx context.Context, partition string, after task.ID, words []string, limit int) (ids []task.ID, last task.ID, err error) {
	in := dynamodb.QueryInput{
		TableName: &d.table, Limit: aws.Int32(int32(limit)),
		KeyConditionExpression: aws.String("p = :p"), ExpressionAttributeValues: dirItem{":p": dirText(partition)},
		ProjectionExpression: aws.String("s"),
	}
	if !after.IsZero() {
		in.ExclusiveStartKey = dirKey(partition, after.String())
	}
	if len(words) > 0 {
		in.Limit = aws.Int32(discoverLook)
		filter := ""
		for n, w := range words {
			name := fmt.Sprintf(":w%d", n)
			if n > 0 {
				filter += " and "
			}
			filter += "contains(q, " + name + ")"
			in.ExpressionAttributeValues[name] = dirText(w)
		}
		in.FilterExpression = &filter
	}
	out, err := d.db.Query(ctx, &in)
	if err != nil {
		return nil, task.ID{}, sdkError(err, "list discoverable agents")
	}
	for _, it := range out.Items {
		id, _ := memberID(it, "")
		ids = append(ids, id)
		if len(ids) == limit {
			return ids, id, nil
		}
	}
	if out.LastEvaluatedKey == nil {
		return ids, task.ID{}, nil
	}
	last, _ = memberID(out.LastEvaluatedKey, "")
	return ids, last, nil
}

// fillOrganizations reads what is to be told of the identities' organizations.
func (d *Directory) fillOrganizations(ctx context.Context, found []directory.Identity) error {
	at := map[task.ID]int{}
	var keys []dirItem
	for _, i := range found {
		if _, ok := at[i.Organization.ID]; !ok {
			at[i.Organization.ID] = len(keys)
			keys = append(keys, organizationKey(i.Organization.ID))
		}
	}
	items, err := d.getAll(ctx, keys)
	if err != nil {
		return err
	}
	for n := range found {
		it := items[at[found[n].Organization.ID]]
		if it == nil {
			found[n].Deleted = true // its organization is no more
			continue
		}
		if found[n].Organization, err = parseOrganization(it); err != nil {
			return err
		}
	}
	return nil
}

// discoverPosition is how far a walk over the shards got.
type discoverPosition struct {
	step  int // shards that are done
	after task.ID
}

func (p discoverPosition) bytes() []byte { return append([]byte{byte(p.step)}, p.after[:]...) }

func parsePosition(b []byte) (p discoverPosition, err error) {
	if b == nil {
		return p, nil
	}
	if len(b) != 1+len(p.after) || int(b[0]) >= discoverShards {
		return p, task.Invalid{{Field: "cursor", Message: "is none of this list's"}}
	}
	p.step = int(b[0])
	copy(p.after[:], b[1:])
	return p, nil
}
