package directory

import (
	"context"
	"sync"
)

type besideKey struct{}

// Beside returns a context under which what nobody waits for, such as counting, is done beside the caller's own work,
// and a function that waits for it. The caller must call that before it answers: a function instance may stand still
// from then on.
func Beside(ctx context.Context) (context.Context, func()) {
	var work sync.WaitGroup
	return context.WithValue(ctx, besideKey{}, &work), work.Wait
}

// beside does work: beside the caller's where the context is of Beside, else at once.
func beside(ctx context.Context, work func()) {
	if group, ok := ctx.Value(besideKey{}).(*sync.WaitGroup); ok {
		group.Go(work)
		return
	}
	work()
}
