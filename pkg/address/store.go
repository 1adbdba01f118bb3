package address

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/pkg/table"
)

// Most is how many addresses a list shows, the last used.
const Most = 200

// Key is the key of the rider's address at the coordinates, in their one form.
func Key(t table.Tenant, rider, lat, lng string) table.Key {
	return t.Key("ADDRESS#"+lat+","+lng, "CUSTOMER", rider, "ADDRESSES")
}

// Partition is the partition of by-g1 with a rider's addresses by last use.
func Partition(t table.Tenant, rider string) string {
	return t.Partition("CUSTOMER", rider, "ADDRESSES")
}

// List reads the rider's last used addresses, the last one first.
//
// Access pattern: by-g1 T#t#CUSTOMER#c#ADDRESSES backward.
func List(ctx context.Context, t table.Tenant, rider string) ([]Address, error) {
	page, err := t.Query(ctx, Partition(t, rider), table.Query{Index: 1, Backward: true, Limit: Most, Whole: true})
	if err != nil {
		return nil, fmt.Errorf("addresses: %w", err)
	}
	out := make([]Address, 0, len(page.Items))
	for _, it := range page.Items {
		a, err := Of(it)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// rounds of eight attempts each: many saves of one address at once all count.
const rounds = 4

// Change is how Put reads the address as it is, a first time and again after a
// conflict, and how it ends the transaction.
type Change struct {
	Read   func(context.Context, table.Key) (table.Item, error)
	Commit func(context.Context, *table.Tx, Address) error
}

// Put saves an address for the rider: read, count, write on the condition of
// what was read. Errors: a 400 with every fault.
func Put(ctx context.Context, t table.Tenant, rider string, s Save, now time.Time, c Change) (Address, error) {
	if err := s.place(); err != nil {
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
				a, err := Of(it)
				if err != nil {
					return err
				}
				was = &a
			}
			saved = s.after(was, now)
			tx, next := t.Write(), Item(t, rider, saved)
			if was != nil {
				next.Version = it.Version
				tx.Replace(next).Else(table.ErrConflict)
			} else {
				tx.Create(next).Else(table.ErrConflict)
			}
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

// Item is the stored form of an address.
func Item(t table.Tenant, rider string, a Address) table.Item {
	return table.Item{Key: Key(t, rider, string(a.Lat), string(a.Lng)), Type: "address", Version: 1,
		G: [4]string{Partition(t, rider)}, R: a.LastUsedAt + "#" + a.ID, Doc: a}
}
