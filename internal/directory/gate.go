package directory

import "context"

// Gate is a Service whose Admit also counts: a send that is admitted may still be one too many.
type Gate struct {
	*Service
	Limiter *Limiter
}

// Admit is Service.Admit, and then Limiter.Take.
func (g Gate) Admit(ctx context.Context, requester, worker Identity) error {
	if err := g.Service.Admit(ctx, requester, worker); err != nil {
		return err
	}
	return g.Limiter.Take(ctx, requester.ID, worker.ID)
}
