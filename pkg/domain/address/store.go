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

// forgottenAtOnce is the maximum number of addresses that one transaction expires. A
// rider may have many more than Most, because older builds had no limit.
const forgottenAtOnce = 25

// Key returns the key of the rider's address at the coordinates, which must be
// in canonical form.
func Key(t table.Tenant, rider, lat, lng string) table.Key {
	return t.Key("CUSTOMER", rider, "ADDRESSES", "ADDRESS#"+lat+","+lng)
}

// Kind says how a rider's saved address is stored.
var Kind = table.Kind[Address]{Type: "address", Personal: "saved addresses, places, cards", Erasure: "deletes",
	Row: func(t table.Tenant, rider string, a Address) table.Item {
		return table.Item{Key: Key(t, rider, string(a.Lat), string(a.Lng)), Version: 1,
			G: [4]string{Partition(t, rider)}, R: a.LastUsedAt + "#" + a.ID}
	}}

// Partition returns the partition with a rider's addresses, in the table and in the index
// by-g1. The index has them by last use.
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

// rounds is the maximum number of times that Put calls table.Retry, which makes up to
// eight attempts. With 32 attempts in all, many concurrent saves of one address all count.
const rounds = 4

// Change has the functions by which Put reads the stored address before each attempt and
// commits the transaction.
type Change struct {
	Read   func(context.Context, table.Key) (table.Item, error)
	Commit func(context.Context, *table.Tx, Address) error
}

// Put saves an address for the rider. It reads the address, counts the use, and
// writes on the condition that the address has not changed. After a conflict it
// tries again. Put does not limit the number of addresses: List shows at most Most, and
// the projection calls Trim after a new one. Errors: a 400 with every fault; a 503 if
// every attempt conflicts.
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

// Check rounds the coordinates and checks every field, for an address that does not come
// through the API. Errors: a 400 with every fault.
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

// Join saves an address that Check has accepted, in the transaction. read is the item at
// the address's Key as it was read. An existing address gets the new text, label and
// notes, but no use is counted; if nothing differs, Join adds nothing. With a new address,
// the least recently used ones expire, so that the rider has at most Most. created and
// changed report whether the transaction creates or changes an address.
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

// Trim expires the least recently used addresses of a rider who has more than Most.
// partition is the result of Partition.
func Trim(ctx context.Context, t table.Tenant, partition string, now time.Time) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		if err := forget(ctx, t, tx, partition, Most, now); err != nil || tx.Len() == 0 {
			return err
		}
		return tx.Commit(ctx)
	})
}

// forget makes the least recently used addresses expire, in the transaction, so that at
// most the given number stays. It expires no more than forgottenAtOnce. DynamoDB deletes
// expired items itself, so the program needs no permission to delete.
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

// expire makes the item of an address expire now, in the transaction. DynamoDB deletes
// the item later.
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
