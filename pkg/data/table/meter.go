package table

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"svc/pkg/base/codec"
)

// Meter counts the cost of the requests that are sent with its context (Metered). Its
// method Usage returns the counts.
type Meter struct {
	mu       sync.Mutex
	requests int
	depth    int // Usage.Sequential
	reads    float64
	writes   float64
	index    float64
}

// Usage is what a meter has counted. Failed requests, and those of Load and
// Footprint, add no units.
type Usage struct {
	Requests   int     // requests we sent, without the SDK's retries
	Sequential int     // length of the longest chain of requests in which each began after the previous one ended
	ReadUnits  float64 // consumed by the table and its indexes
	WriteUnits float64 // consumed by the table itself
	IndexUnits float64 // write units consumed by its indexes
}

// meterKey is the context key of the Meter.
type meterKey struct{}

// Metered returns a new meter and a context. The meter counts the requests that
// use the context. If contexts are nested, only the innermost meter counts.
func Metered(ctx context.Context) (context.Context, *Meter) {
	m := &Meter{}
	return context.WithValue(ctx, meterKey{}, m), m
}

// Usage returns the counts so far.
func (m *Meter) Usage() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Usage{m.requests, m.depth, m.reads, m.writes, m.index}
}

// begin counts a request. It returns the length of the longest chain of requests that
// ends with this one.
func (m *Meter) begin() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	return m.depth + 1
}

// end records a request that has ended. depth is what begin returned for it, reads says
// whether it was a read, and used is the capacity that it consumed.
func (m *Meter) end(depth int, reads bool, used []types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.depth = max(m.depth, depth)
	for _, c := range used {
		total, own := codec.OrZero(c.CapacityUnits), codec.OrZero(c.CapacityUnits)
		if c.Table != nil {
			own = codec.OrZero(c.Table.CapacityUnits)
		}
		if reads {
			m.reads += total
			continue
		}
		m.writes += own
		m.index += total - own
	}
}

// metered sends a request, and counts it in the context's Meter.
func metered(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error) {
	m, ok := ctx.Value(meterKey{}).(*Meter)
	if !ok {
		return next.HandleInitialize(ctx, in)
	}
	depth := m.begin()
	out, meta, err := next.HandleInitialize(ctx, in)
	reads, used := consumed(out.Result)
	m.end(depth, reads, used)
	return out, meta, err
}

// consumed returns the capacity that a response reports, and whether the request reads.
func consumed(result any) (reads bool, used []types.ConsumedCapacity) {
	one := func(c *types.ConsumedCapacity) []types.ConsumedCapacity {
		if c == nil {
			return nil
		}
		return []types.ConsumedCapacity{*c}
	}
	switch out := result.(type) {
	case *dynamodb.GetItemOutput:
		return true, one(out.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		return true, one(out.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		return true, out.ConsumedCapacity
	case *dynamodb.PutItemOutput:
		return false, one(out.ConsumedCapacity)
	case *dynamodb.TransactWriteItemsOutput:
		return false, out.ConsumedCapacity
	case *dynamodb.BatchWriteItemOutput:
		return false, out.ConsumedCapacity
	}
	return false, nil
}
