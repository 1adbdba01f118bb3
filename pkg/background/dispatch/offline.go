package dispatch

import (
	"context"
	"fmt"

	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/driver"
)

// offline stands before the id of a driver in a message: the driver has gone offline.
const offline = "OFFLINE#"

// wentOffline reports whether the change of a driver ends the driver's work.
func wentOffline(c stream.Change) bool {
	gone := func(it table.Item) bool { return it.Text("status") == driver.Offline || it.Flag("disabled") }
	return c.Old.Found() && c.New.Found() && !gone(c.Old) && gone(c.New)
}

// release ends the offer of a driver who is offline, and makes the step of its trip: it is
// offered to the next driver. A driver who came back meanwhile keeps the offer.
func (w Worker) release(ctx context.Context, t table.Tenant, id string) error {
	var tripID string
	err := table.Retry(ctx, func(ctx context.Context) error {
		items, err := t.Batch(ctx, driver.Key(t, id), dispatch.OfferKey(t, id))
		if err != nil || !items[0].Found() {
			return err
		}
		r, err := driver.FromItem(items[0])
		if err != nil || r.Status != driver.Offline && !r.Disabled {
			return err
		}
		offer, held, err := dispatch.Held(items[1], w.Now())
		if err != nil || !held {
			return err
		}
		tripID = offer.TripID
		tx := t.Write()
		if err := dispatch.Withdraw(tx, items[1], tripID, w.Now(), table.ErrConflict); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("offer of driver %s: %w", id, err)
	}
	if tripID == "" {
		return nil
	}
	return w.attempt(ctx, t, tripID, func(v *view) error { return v.step(ctx) })
}
