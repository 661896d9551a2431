package store

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A page ends, with a position to go on from, when it took this much: less than what a gateway waits for, and no more
// units than a partition gives in a moment. What is being read then is read to its end.
const (
	pageTime  = 8 * time.Second
	PageUnits = 1000
)

// allowance is what a page may cost.
type allowance struct {
	time  time.Duration
	units float64
}

// Allow bounds pages otherwise than a gateway and a partition do: for measuring on an engine that is slower than they are.
func (s *Tasks) Allow(t time.Duration, units float64) { s.page = allowance{t, units} }

// budget is what a page did cost, and when it must end. Safe for concurrent use.
type budget struct {
	most  float64
	until time.Time
	mu    sync.Mutex
	units float64
}

type budgetOf struct{}

// withBudget returns a context whose queries and batches are counted.
func withBudget(ctx context.Context, a allowance) (context.Context, *budget) {
	b := &budget{most: a.units, until: time.Now().Add(a.time)}
	return context.WithValue(ctx, budgetOf{}, b), b
}

func (b *budget) spent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.units > b.most || time.Now().After(b.until)
}

func spend(ctx context.Context, units float64) {
	if b, ok := ctx.Value(budgetOf{}).(*budget); ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.units += units
	}
}

// query is one round trip whose units count against the budget of the context, if it has one.
func (s *Tasks) query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := s.db.Query(ctx, in)
	if err == nil {
		spend(ctx, units(out.ConsumedCapacity))
	}
	return out, err
}
