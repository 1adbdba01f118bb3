package driver

import (
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// BeginRide makes a driver BUSY with a trip, in the transaction that gives the trip to the
// driver. it is the driver's item as it was read, trip the trip's id. Errors: 409 if the
// driver is not ONLINE or has another ride. The transaction fails with table.ErrConflict if
// the driver has changed since the read.
func BeginRide(tx *table.Tx, t table.Tenant, it table.Item, trip string, now time.Time) error {
	r, err := FromItem(it)
	switch {
	case err != nil:
		return err
	case r.Trip != "":
		return fault.InvalidState("The driver has another ride, %s.", r.Trip)
	case r.Disabled || r.Status != Online:
		return fault.InvalidState("The driver is %s. Only a driver who is ONLINE can get a ride.", r.Shown().Status)
	}
	r.Status, r.Trip, r.StatusUpdatedAt = Busy, trip, timestamp.Format(now)
	tx.Replace(Store.Rewritten(t, it, r)).Else(table.ErrConflict)
	return nil
}

// EndRide makes the driver of a trip, who was BUSY with it, ONLINE again. It does so in the
// transaction that ends the trip or takes it from the driver. it is the driver's item as it
// was read. A driver who was disabled meanwhile stays OFFLINE. If the item is absent, EndRide
// does nothing. If the driver does not have the trip, EndRide only requires that the driver's
// item is unchanged: the item may have been read just before the ride began, and the trip
// just after. The transaction fails with table.ErrConflict if the driver has changed since
// the read.
func EndRide(tx *table.Tx, t table.Tenant, it table.Item, trip string, now time.Time) error {
	if !it.Found() {
		return nil
	}
	r, err := FromItem(it)
	if err != nil {
		return err
	}
	if r.Trip != trip {
		tx.Check(it.Key).If("'version' = ?", it.Version).Else(table.ErrConflict)
		return nil
	}
	if r.Trip = ""; r.Status == Busy {
		r.Status, r.StatusUpdatedAt = Online, timestamp.Format(now)
	}
	tx.Replace(Store.Rewritten(t, it, r)).Else(table.ErrConflict)
	return nil
}
