package dispatch

import (
	"context"
	"fmt"

	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/driver"
)

// offline is the prefix of a driver's id in Message.Trip. The message says that the
// driver went offline.
const offline = "OFFLINE#"

// wentOffline reports whether a driver could work before the change, and is offline or
// disabled after it.
func wentOffline(c stream.Change) bool {
	gone := func(it table.Item) bool { return it.Text("status") == driver.Offline || it.Flag("disabled") }
	return c.Old.Found() && c.New.Found() && !gone(c.Old) && gone(c.New)
}

// release withdraws the offer of a driver who went offline, and makes a step of the
// offered trip, so that the next driver gets an offer. A driver who came back meanwhile
// keeps the offer.
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
