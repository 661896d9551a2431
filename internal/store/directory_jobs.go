package store

import (
	"context"

	"baton/internal/directory"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type jobRecord struct {
	Kind      string `json:"kind"`
	About     string `json:"about"`
	CreatedAt int64  `json:"created"`
	Clean     int    `json:"clean,omitempty"`
}

// jobItem has a condition of its own beside the version (t), since a job that takes an earlier one's place begins at the
// same version.
func jobItem(j directory.Job) dirItem {
	it := dirRecord(jobKey(j), j.Version, jobRecord{string(j.Kind), j.About.String(), dirMillis(j.CreatedAt), j.Clean})
	it["t"] = dirNumber(dirMillis(j.CreatedAt))
	return it
}

const jobUnchanged = dirUnchanged + " and t = :t"

func jobIs(j directory.Job) dirItem {
	return dirItem{":v": dirNumber(int64(j.Version)), ":t": dirNumber(dirMillis(j.CreatedAt))}
}

// newJobs are the writes of jobs that take the place of earlier ones.
func (d *Directory) newJobs(jobs []directory.Job) (writes []types.TransactWriteItem) {
	for _, j := range jobs {
		writes = append(writes, d.put(jobItem(j), "", nil))
	}
	return writes
}

// jobPage is how many jobs a query asks for.
const jobPage = 100

// Jobs implements directory.Store.
func (d *Directory) Jobs(ctx context.Context) (jobs []directory.Job, err error) {
	for after, more := "", true; more; {
		var page []dirItem
		if page, more, err = d.list(ctx, jobPartition, "", after, jobPage); err != nil {
			return nil, err
		}
		for _, it := range page {
			after = dirTextOf(it["s"])
			var r jobRecord
			version, err := parseRecord(it, &r)
			about, ok := task.ParseID(r.About)
			if err != nil || !ok {
				return nil, malformed("job", after, err)
			}
			jobs = append(jobs, directory.Job{
				Kind: directory.JobKind(r.Kind), About: about, CreatedAt: dirTime(r.CreatedAt), Clean: r.Clean, Version: version,
			})
		}
	}
	return jobs, nil
}

// SaveJob implements directory.Store.
func (d *Directory) SaveJob(ctx context.Context, was, now directory.Job) error {
	return d.changeJob(ctx, d.put(jobItem(now), jobUnchanged, jobIs(was)))
}

// DropJob implements directory.Store.
func (d *Directory) DropJob(ctx context.Context, was directory.Job) error {
	return d.changeJob(ctx, types.TransactWriteItem{Delete: &types.Delete{
		TableName: &d.table, Key: jobKey(was),
		ConditionExpression: aws.String(jobUnchanged), ExpressionAttributeValues: jobIs(was),
	}})
}

func (d *Directory) changeJob(ctx context.Context, write types.TransactWriteItem) error {
	failed, err := d.transact(ctx, write)
	if failed >= 0 {
		return directory.ErrStale
	}
	return err
}
