package feed

import (
	"context"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/data/stream"
	"svc/pkg/data/table"
)

// What tests use.
var (
	Step     = Function.step
	TripType = tripType
	Unseen   = unseen
)

// Handle processes a batch of the stream with this step of ProjectionFunction alone.
func (f Function) Handle(ctx context.Context, batch events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	return stream.Answer(ctx, batch, f.Process(ctx, batch), nil), nil
}

// Redo appends the events that the feed lacks of the item with the key.
func (f Function) Redo(ctx context.Context, key table.Key) error {
	t, ok := stream.TenantOf(f.DB, key)
	if !ok {
		return nil
	}
	it, err := t.Get(ctx, key)
	if err != nil || !slices.Contains(Types, it.Type) {
		return err
	}
	return f.Change(ctx, stream.Change{Key: key, New: it})
}
