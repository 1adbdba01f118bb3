package projection

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/data/stream"
)

// Handle processes a batch of the stream with this step of ProjectionFunction alone.
func (f Function) Handle(ctx context.Context, batch events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	return f.With(nil)(ctx, batch)
}

// With is Handle with a store for the records of an item whose data cannot be counted.
func (f Function) With(giveUp stream.GiveUp) func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse,
	error) {
	return func(ctx context.Context, batch events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		return stream.Answer(ctx, batch, f.Process(ctx, batch), giveUp), nil
	}
}

// Held exports held to the tests.
var Held = held
