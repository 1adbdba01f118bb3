package address

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Most is the maximum number of a rider's saved addresses. A new address beyond
// it replaces the one that was not used for the longest time.
const Most = 200

// forgottenAtOnce is how many addresses one new address expires at most, for a
// rider who had more than Most before there was this limit.
const forgottenAtOnce = 25

// Key returns the key of the rider's address at the coordinates, which must be
// in canonical form.
func Key(t table.Tenant, rider, lat, lng string) table.Key {
	return t.Key("CUSTOMER", rider, "ADDRESSES", "ADDRESS#"+lat+","+lng)
}

// Kind stores a rider's addresses.
var Kind = table.Kind[Address]{Type: "address", Personal: "saved addresses, places, cards", Erasure: "deletes",
	Row: func(t table.Tenant, rider string, a Address) table.Item {
		return table.Item{Key: Key(t, rider, string(a.Lat), string(a.Lng)), Version: 1,
			G: [4]string{Partition(t, rider)}, R: a.LastUsedAt + "#" + a.ID}
	}}

// Partition returns the partition of by-g1 with a rider's addresses by last
// use.
func Partition(t table.Tenant, rider string) string {
	return t.Partition("CUSTOMER", rider, "ADDRESSES")
}

// List reads the rider's most recently used addresses, the latest first.
//
// Access pattern: by-g1 T#t#CUSTOMER#c#ADDRESSES backward.
func List(ctx context.Context, t table.Tenant, rider string, now time.Time) ([]Address, error) {
	page, err := t.Query(ctx, Partition(t, rider), table.Query{Index: 1, Backward: true, Limit: Most, Fill: true})
	if err != nil {
		return nil, fmt.Errorf("addresses: %w", err)
	}
	live := slices.DeleteFunc(page.Items, func(it table.Item) bool { return !it.Live(now) })
	return table.DecodeAll(live, Kind.FromItem)
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
// tries again. Whoever calls Put need not count the rider's addresses: List shows
// at most Most, and Trim follows. Errors: a 400 with every fault; a 503 if every
// attempt conflicts.
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
			if it.Live(now) {
				a, err := Kind.FromItem(it)
				if err != nil {
					return err
				}
				was = &a
			}
			saved = s.after(was, now)
			tx := t.Write()
			audit.Put(tx, it, Kind.Item(t, rider, saved))
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

// Check rounds the coordinates and checks every field, as the API does. Errors: a 400
// with every fault.
func (s *Save) Check() error {
	var wrong fault.Faults
	wrong.Unless(money.Within(&s.Lat, 90), "lat", "expected degrees")
	wrong.Unless(money.Within(&s.Lng, 180), "lng", "expected degrees")
	for _, field := range []struct {
		name string
		text *string
		most int
	}{{"address", &s.Address, 300}, {"label", s.Label.Value, 100}, {"notes", s.Notes.Value, 1000}} {
		wrong.Unless(field.text == nil || plaintext.IsOptional(*field.text, field.most), field.name,
			"expected at most %d characters, none of them a control character", field.most)
	}
	wrong.Unless(s.Address != "", "address", "expected an address as text")
	return wrong.Err()
}

// Join adds a checked address to the transaction, without counting a use. read is
// the stored address. It adds nothing if the stored address says the same.
func (s Save) Join(ctx context.Context, tx *table.Tx, t table.Tenant, rider string, read table.Item,
	now time.Time) (created, changed bool, err error) {
	if !read.Live(now) {
		audit.Put(tx, read, Kind.Item(t, rider, s.after(nil, now)))
		return true, false, forget(ctx, t, tx, Partition(t, rider), Most-1, now)
	}
	was, err := Kind.FromItem(read)
	if err != nil {
		return false, false, err
	}
	next := s.after(&was, now)
	next.UsageCount, next.LastUsedAt = was.UsageCount, was.LastUsedAt
	if reflect.DeepEqual(was, next) {
		return false, false, nil
	}
	audit.Put(tx, read, Kind.Item(t, rider, next))
	return false, true, nil
}

// Trim expires the least recently used addresses of a partition (Partition) that
// has more than Most.
func Trim(ctx context.Context, t table.Tenant, partition string, now time.Time) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		if err := forget(ctx, t, tx, partition, Most, now); err != nil || tx.Len() == 0 {
			return err
		}
		return tx.Commit(ctx)
	})
}

// forget adds to the transaction that the least recently used addresses expire, so
// that at most the given number stays. The table deletes expired items by itself, so
// this needs no right to delete.
//
// Access pattern: the table's partition T#t#CUSTOMER#c#ADDRESSES.
func forget(ctx context.Context, t table.Tenant, tx *table.Tx, partition string, most int, now time.Time) error {
	items, err := stored(ctx, t, partition)
	if err != nil {
		return err
	}
	live := slices.DeleteFunc(items, func(it table.Item) bool { return !it.Live(now) })
	slices.SortFunc(live, func(a, b table.Item) int { return strings.Compare(a.R, b.R) })
	for _, it := range live[:min(max(0, len(live)-most), forgottenAtOnce)] {
		expire(tx, it, now)
	}
	return nil
}

// expire removes an address in the transaction. The table deletes expired items by
// itself.
func expire(tx *table.Tx, it table.Item, now time.Time) {
	tx.Update(it.Key, table.Change{Add: map[string]any{"version": 1}, Expires: now.Unix()}).
		If("'version' = ?", it.Version).Else(table.ErrConflict)
}

// stored reads all items of a rider's addresses, at most table.Examined.
//
// Access pattern: the table's partition T#t#CUSTOMER#c#ADDRESSES.
func stored(ctx context.Context, t table.Tenant, partition string) ([]table.Item, error) {
	page, err := t.Query(ctx, partition, table.Query{Prefix: "ADDRESS#", Limit: table.Examined,
		Consistent: true, Fill: true})
	return page.Items, err
}

// find returns the live address with the id. It returns fault.NotFound if there is
// none.
func find(items []table.Item, id string, now time.Time) (table.Item, Address, error) {
	for _, it := range items {
		a, err := Kind.FromItem(it)
		if err != nil {
			return it, a, err
		}
		if a.ID == id && it.Live(now) {
			return it, a, nil
		}
	}
	return table.Item{}, Address{}, fault.NotFound()
}
