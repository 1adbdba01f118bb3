package location

import (
	"context"
	"fmt"
	"time"

	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
)

// Relist brings a driver's entry in the list by place up to date after the driver's status
// has changed: a driver who reported a position and then comes online is added, and one who
// goes offline is removed. It writes nothing if the entry is right.
func Relist(ctx context.Context, t table.Tenant, id string, now time.Time) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		items, err := t.Batch(ctx, driver.Key(t, id), driver.LocationKey(t, id), ListingKey(t, id))
		if err != nil || !items[0].Found() {
			return err
		}
		r, err := driver.FromItem(items[0])
		if err != nil {
			return err
		}
		if r.Disabled {
			r.Status = driver.Offline
		}
		l, ok, err := driver.LocationFromItem(items[1])
		if err != nil || !ok {
			return err
		}
		next, changed, err := relist(items[2], r.Status, l, now)
		if err != nil || !changed {
			return err
		}
		tx, entry := t.Write(), next.item(t, id, items[2], now)
		if items[2].Found() {
			tx.Put(entry).If("'version' = ?", items[2].Version).Else(table.ErrConflict)
		} else {
			tx.Create(entry).Else(table.ErrConflict)
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("place of driver %s: %w", id, err)
	}
	return nil
}
