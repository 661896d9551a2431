package directory

import "context"

// Gate is a Service whose Admit and Connect also count: what is admitted may still be one too many.
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

// Connect is Service.Connect, for which the requester may ask as often as it may send. A new request may follow each one
// that was taken back, so without a count one agent could fill any other's list.
func (g Gate) Connect(ctx context.Context, requester Identity, ref Ref, note string) (c Connection, created bool, err error) {
	if err := g.CheckConnect(ctx, requester, ref, note); err != nil {
		return Connection{}, false, err
	}
	if err := g.Limiter.TakeRequest(ctx, requester.ID); err != nil {
		return Connection{}, false, err
	}
	return g.Service.Connect(ctx, requester, ref, note)
}
