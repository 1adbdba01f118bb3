package settlement

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/stream"
	"svc/pkg/table"
	"svc/pkg/trip"
)

// Function settles the trips that a batch of the table's stream shows as
// completed.
type Function struct {
	DB  *table.DB
	Now func() time.Time
}

const workers = 8

// Handle settles a batch. The error is always nil: what failed is in the
// answer, by sequence number.
func (f Function) Handle(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	// One driver's trips follow each other: they meet in one wallet.
	var groups [][]stream.Change
	of := map[string]int{}
	for _, c := range stream.Changes(event) {
		if c.Type() != "trip" || c.New.Text("status") != string(trip.Completed) {
			continue
		}
		driver := c.New.Text("driverId")
		i, ok := of[driver]
		if !ok || driver == "" {
			i = len(groups)
			groups, of[driver] = append(groups, nil), i
		}
		groups[i] = append(groups[i], c)
	}
	return stream.Answer(stream.Each(ctx, groups, workers, f.settle)), nil
}

// settle settles one driver's trips, the ones after a failure too.
func (f Function) settle(ctx context.Context, changes []stream.Change) error {
	var errs []error
	for _, c := range changes {
		t, ok := stream.TenantOf(f.DB, c.Key)
		if !ok {
			continue // no tenant's trip: nothing that could be settled
		}
		tr, err := trip.FromItem(c.New)
		if err == nil {
			_, err = Settle(ctx, t, tr, f.Now())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
