package store

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// Usage counts what the DynamoDB calls of one request cost. Safe for concurrent use.
type Usage struct {
	mu          sync.Mutex
	read, write float64
	calls       int
}

type usageOf struct{}

// WithUsage returns a context whose DynamoDB calls, by a client made with NewClient, are counted.
func WithUsage(ctx context.Context) (context.Context, *Usage) {
	u := &Usage{}
	return context.WithValue(ctx, usageOf{}, u), u
}

// Total is the read and write units so far, and the round trips: calls, without the SDK's own retries.
func (u *Usage) Total() (read, write float64, calls int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.read, u.write, u.calls
}

// NewClient returns a DynamoDB client that counts for WithUsage.
func NewClient(options dynamodb.Options) *dynamodb.Client {
	options.APIOptions = append(options.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Usage", count), middleware.Before)
	})
	return dynamodb.New(options)
}

func count(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	u, ok := ctx.Value(usageOf{}).(*Usage)
	if !ok {
		return next.HandleInitialize(ctx, in)
	}
	const total = types.ReturnConsumedCapacityTotal
	switch p := in.Parameters.(type) {
	case *dynamodb.GetItemInput:
		p.ReturnConsumedCapacity = total
	case *dynamodb.BatchGetItemInput:
		p.ReturnConsumedCapacity = total
	case *dynamodb.TransactGetItemsInput:
		p.ReturnConsumedCapacity = total
	case *dynamodb.QueryInput:
		p.ReturnConsumedCapacity = total
	case *dynamodb.PutItemInput:
		p.ReturnConsumedCapacity = total
	case *dynamodb.UpdateItemInput:
		p.ReturnConsumedCapacity = total
	case *dynamodb.DeleteItemInput:
		p.ReturnConsumedCapacity = total
	case *dynamodb.TransactWriteItemsInput:
		p.ReturnConsumedCapacity = total
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls++
	switch r := out.Result.(type) {
	case *dynamodb.GetItemOutput:
		u.read += units(r.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		u.read += allUnits(r.ConsumedCapacity)
	case *dynamodb.TransactGetItemsOutput:
		u.read += allUnits(r.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		u.read += units(r.ConsumedCapacity)
	case *dynamodb.PutItemOutput:
		u.write += units(r.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		u.write += units(r.ConsumedCapacity)
	case *dynamodb.DeleteItemOutput:
		u.write += units(r.ConsumedCapacity)
	case *dynamodb.TransactWriteItemsOutput:
		u.write += allUnits(r.ConsumedCapacity)
	}
	return out, metadata, err
}

func units(c *types.ConsumedCapacity) float64 {
	if c == nil || c.CapacityUnits == nil {
		return 0
	}
	return *c.CapacityUnits
}

func allUnits(cs []types.ConsumedCapacity) (sum float64) {
	for i := range cs {
		sum += units(&cs[i])
	}
	return sum
}
