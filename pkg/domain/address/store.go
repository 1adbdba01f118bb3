package address

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Most is the maximum number of addresses in a list. A list shows the most
// recently used ones.
const Most = 200

// Key returns the key of the rider's address at the coordinates, which must be
// in canonical form.
func Key(t table.Tenant, rider, lat, lng string) table.Key {
	return t.Key("ADDRESS#"+lat+","+lng, "CUSTOMER", rider, "ADDRESSES")
}

// Partition returns the partition of by-g1 with a rider's addresses by last
// use.
func Partition(t table.Tenant, rider string) string {
	return t.Partition("CUSTOMER", rider, "ADDRESSES")
}

// List reads the rider's most recently used addresses, the latest first.
//
// Access pattern: by-g1 T#t#CUSTOMER#c#ADDRESSES backward.
func List(ctx context.Context, t table.Tenant, rider string) ([]Address, error) {
	page, err := t.Query(ctx, Partition(t, rider), table.Query{Index: 1, Backward: true, Limit: Most, Fill: true})
	if err != nil {
		return nil, fmt.Errorf("addresses: %w", err)
	}
	return table.DecodeAll(page.Items, FromItem)
}

// rounds is how often Put calls table.Retry at most. Each call makes up to eight
// attempts. With 32 attempts, many concurrent saves of one address all count.
const rounds = 4

// Change defines how Put reads the current address before each attempt, and how
// it commits the transaction.
type Change struct {
	Read   func(context.Context, table.Key) (table.Item, error)
	Commit func(context.Context, *table.Tx, Address) error
}

// Put saves an address for the rider. It reads the address, counts the use, and
// writes on the condition that the address has not changed. After a conflict it
// tries again. Errors: a 400 with every fault; a 503 if every attempt conflicts.
func Put(ctx context.Context, t table.Tenant, rider string, s Save, now time.Time, c Change) (Address, error) {
	if err := s.normalize(); err != nil {
		return Address{}, err
	}
	var saved Address
	var err error
	for range rounds {
		err = table.Retry(ctx, func(ctx context.Context) error {
			it, err := c.Read(ctx, Key(t, rider, string(s.Lat), string(s.Lng)))
			if err != nil {
				return err
			}
			var was *Address
			if it.Found() {
				a, err := FromItem(it)
				if err != nil {
					return err
				}
				was = &a
			}
			saved = s.after(was, now)
			tx := t.Write()
			audit.Put(tx, it, Item(t, rider, saved))
			return c.Commit(ctx, tx, saved)
		})
		if !errors.Is(err, table.ErrConflict) {
			break
		}
	}
	if err != nil {
		return Address{}, fmt.Errorf("save address: %w", err)
	}
	return saved, nil
}

// Item returns the stored form of an address.
func Item(t table.Tenant, rider string, a Address) table.Item {
	return table.Item{Key: Key(t, rider, string(a.Lat), string(a.Lng)), Type: "address", Version: 1,
		G: [4]string{Partition(t, rider)}, R: a.LastUsedAt + "#" + a.ID, Doc: a}
}
