package settlement

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/trip"
)

// Function settles the trips in a batch of the table's stream that are completed, or
// cancelled for a fee.
type Function struct {
	DB  *table.DB
	Now func() time.Time
	// GiveUp stores the records of a trip whose data cannot be settled; nil means
	// that the stream delivers them again.
	GiveUp stream.GiveUp
}

// workers is how many drivers' trips are settled at the same time.
const workers = 8

// Handle settles a batch. The error is always nil; the response lists the
// failures by sequence number.
func (f Function) Handle(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	return stream.Answer(ctx, event, stream.Process(ctx, event, f.process), f.GiveUp), nil
}

// process settles the trips in a batch of the table's stream and returns the changes that
// failed.
func (f Function) process(ctx context.Context, event events.DynamoDBEvent) []stream.Failure {
	// One driver's trips run one after the other, because they share a wallet.
	var groups [][]stream.Change
	of := map[string]int{}
	for _, c := range stream.Changes(event) {
		if c.Type() != "trip" || !ended(c.New) {
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
	return stream.Each(ctx, groups, workers, f.settle)
}

// settle settles one driver's trips. It goes on to the next trip after a failure, and
// returns all errors.
func (f Function) settle(ctx context.Context, changes []stream.Change) error {
	var errs []error
	for _, c := range changes {
		t, ok := stream.TenantOf(f.DB, c.Key)
		if !ok {
			continue // not a tenant's trip: nothing to settle
		}
		tr, err := trip.FromItem(c.New)
		if err = stream.BadData(err); err == nil && tr.Settles() {
			_, err = receipt.Settle(ctx, t, tr, f.Now())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// ended reports whether a trip is completed or cancelled. Only such a trip may need a
// settlement.
func ended(it table.Item) bool {
	status := trip.Status(it.Text("status"))
	return status == trip.Completed || status == trip.Cancelled
}

// Redo settles the current trip with the key. It does nothing for a trip that is settled
// already, needs no settlement or is deleted.
func (f Function) Redo(ctx context.Context, key table.Key) error {
	t, ok := stream.TenantOf(f.DB, key)
	if !ok {
		return nil
	}
	it, err := t.Get(ctx, key)
	if err != nil || it.Type != "trip" || !ended(it) {
		return err
	}
	tr, err := trip.FromItem(it)
	if err != nil || !tr.Settles() {
		return err
	}
	_, err = receipt.Resettle(ctx, t, tr, f.Now())
	return err
}
