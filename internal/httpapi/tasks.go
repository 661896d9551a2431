package httpapi

import (
	"context"
	"time"

	"baton/internal/directory"
	"baton/internal/task"
)

// Tasks is what the edge asks of tasks; task.Service implements it.
type Tasks interface {
	Send(ctx context.Context, s task.Send) (v task.View, created bool, err error)
	Read(ctx context.Context, v task.Viewer, id task.ID, minimal bool) (task.View, error)
	Wait(ctx context.Context, v task.Viewer, id task.ID, most time.Duration) (task.View, error)
	AddMessage(ctx context.Context, e task.Edit, d task.Draft) (task.View, error)
	Reply(ctx context.Context, e task.Edit, intent task.Intent, lease task.ID, d task.Draft) (task.View, error)
	Renew(ctx context.Context, e task.Edit, lease task.ID) (task.View, error)
	Set(ctx context.Context, e task.Edit, state task.State, d task.Draft) (task.View, error)
	Cancel(ctx context.Context, e task.Edit, messageID string, endedIsFine bool) (task.View, error)
	History(ctx context.Context, v task.Viewer, id task.ID, after, limit int) (page []task.Message, next int, err error)
	List(ctx context.Context, q task.Query) (task.Page, error)
}

// Workers is what a send asks of the directory besides what every request does; directory.Service implements it.
type Workers interface {
	Target(ctx context.Context, ref directory.Ref) (directory.Identity, error)
	Admit(ctx context.Context, requester, worker directory.Identity) error
}

// heldAtMost is how long a waiting call is held: less than the 29 s of the gateway (contract section 2, "Wait").
const heldAtMost = 25 * time.Second

// wait is the query parameter of that name.
func (p *params) wait() time.Duration {
	return min(time.Duration(p.integer("wait", 0, 30, 0))*time.Second, heldAtMost)
}
