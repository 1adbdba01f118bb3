package trip

import (
	"context"
	"errors"
	"slices"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
)

// openKey returns the key of the item that limits a rider's open trips. Its attribute
// trips is a set of trip ids: all open trips of the rider, and perhaps some that have
// ended. Only a request for a ride writes the item; the end of a trip does not, so it
// costs nothing. If the set has as many ids as the attribute room says, the next request
// reads which of these trips are still open, and removes the others. A counter would cost
// two write units for each trip, and could become wrong.
func openKey(t table.Tenant, rider string) table.Key { return t.Key("TRIP", rider, "OPEN") }

// roomBefore is the room of a rider with few open trips. With that many ids the item
// stays below one KiB, so a write of it costs two write units.
const roomBefore = 25

// errLook reports that the set of the rider's open trips is full, so they must be counted.
var errLook = errors.New("the rider's open trips must be counted")

// addOpen adds a new trip to the set of the rider's open trips (openKey) without reading
// it. most is the limit of open trips. If the set is full, the transaction fails with
// errLook.
func addOpen(tx *table.Tx, tenant table.Tenant, t Trip, most int) {
	tx.Update(openKey(tenant, t.CustomerID), table.Change{
		Default: map[string]any{"type": "open", "v": 1, "room": roomBefore},
		Add:     map[string]any{"trips": []string{t.ID}, "version": 1}}).
		If("attribute_not_exists(trips) OR (size(trips) < ? AND size(trips) < room)", most).Else(errLook)
}

// addAfterLook reads which trips in the set of the rider's open trips are still open,
// removes the others and adds the new trip t. If the rider already has as many open trips
// as most allows, it returns a 409. If another request changes the set meanwhile, the
// transaction fails with table.ErrConflict.
func addAfterLook(ctx context.Context, tx *table.Tx, tenant table.Tenant, t Trip, most int) error {
	it, err := tenant.Get(ctx, openKey(tenant, t.CustomerID))
	if err != nil {
		return err
	}
	var keys []table.Key
	for _, id := range it.Strings("trips") {
		keys = append(keys, Key(tenant, id))
	}
	open := []string{t.ID}
	for some := range slices.Chunk(keys, 100) {
		items, err := tenant.Batch(ctx, some...)
		if err != nil {
			return err
		}
		for _, one := range items {
			if status := Status(one.Text("status")); one.Found() && status != Completed && status != Cancelled {
				open = append(open, one.Key.PK[len(Key(tenant, "").PK):])
			}
		}
	}
	if len(open) > most {
		return &fault.Error{Kind: fault.KindOpenTrips, Message: "The rider has as many open trips as the company allows. " +
			"Cancel one of them, or request the ride when one has ended."}
	}
	tx.Update(it.Key, table.Change{Add: map[string]any{"version": 1},
		Set: map[string]any{"trips": open, "room": min(most, max(roomBefore, 2*len(open)))}}).
		If("'version' = ?", it.Version).Else(table.ErrConflict)
	return nil
}
