package projection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/external"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/wallet"
)

// Rebuilt is the result of a rebuild, by item type.
type Rebuilt struct {
	Examined map[string]int      `json:"examined"`
	Differed map[string]int      `json:"differed"` // items whose count was wrong and is corrected
	Keys     map[string][]string `json:"keys"`     // partition keys of the first 20 of them
}

const (
	itemsPerRebuild = 90 // the most that a step takes
	rebuildPage     = 500
	rebuildNamed    = 20
)

// Rebuild runs the step over all counted items of a tenant, and returns how many
// had a wrong count. Items may change meanwhile: however many steps read a
// change, it is counted once. note, if not nil, receives the progress.
func (s Step) Rebuild(ctx context.Context, t table.Tenant, note func(kind string, examined int)) (Rebuilt,
	error) {
	out := Rebuilt{Examined: map[string]int{}, Differed: map[string]int{}, Keys: map[string][]string{}}
	err := tenant.EachShard(ctx, t, func(shard int) error {
		for _, walk := range []struct {
			kind, partition string
		}{
			{"driver", t.Partition("DRIVERS", strconv.Itoa(shard))},
			{"customer", t.Partition("CUSTOMERS", strconv.Itoa(shard))},
			{"wallet", wallet.Partition(t, wallet.Driver, shard)},
			{"wallet", wallet.Partition(t, wallet.Customer, shard)},
			{"trip", t.Partition("TRIPS", strconv.Itoa(shard))},
		} {
			err := s.walk(ctx, t.Handle, walk.partition, func(keys []table.Key) error {
				changed, err := s.together(ctx, t, keys)
				out.add(walk.kind, len(keys), changed)
				if note != nil {
					note(walk.kind, out.Examined[walk.kind])
				}
				if k, ok := claiming[walk.kind]; ok && err == nil {
					err = claim(ctx, t, k, keys)
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("rebuild of the %ss: %w", walk.kind, err)
			}
		}
		return nil
	})
	return out, err
}

// claiming are the kinds of records to which imports up to 2026-11 gave identifiers of other
// systems without claiming them.
var claiming = map[string]external.Kind{"driver": driver.Store.External(), "customer": customer.Store.External()}

// claim claims the identifiers of records for which nobody has. Of two records with the
// same, the first one that is read has it.
func claim(ctx context.Context, t table.Tenant, k external.Kind, keys []table.Key) error {
	items, err := t.Batch(ctx, keys...)
	claims, none := make([]table.Key, len(items)), k.Claim(t, "")
	for i, it := range items {
		id, failed := external.IDOf(it)
		claims[i], err = k.Claim(t, id), errors.Join(err, failed)
	}
	rows, failed := t.Batch(ctx, claims...)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	for i, row := range rows {
		if row.Found() || claims[i] == none {
			continue
		}
		tx := t.Write()
		tx.Create(external.Row(claims[i], idOf(items[i].Key)))
		tx.Check(items[i].Key).If("'version' = ?", items[i].Version)
		if err := tx.Commit(ctx); err != nil && !table.Overtaken(err) {
			return err
		}
	}
	return nil
}

// together runs the step over the items, and over each alone if others keep counting
// some of them. An item that another step counts meanwhile needs no other.
func (s Step) together(ctx context.Context, t table.Tenant, keys []table.Key) ([]table.Key, error) {
	changed, err := s.Tenant(ctx, t, keys)
	if !errors.Is(err, table.ErrConflict) {
		return changed, err
	}
	for _, key := range keys {
		more, err := s.Tenant(ctx, t, []table.Key{key})
		changed = append(changed, more...)
		if err != nil && !errors.Is(err, table.ErrConflict) {
			return changed, err
		}
	}
	return changed, nil
}

// Posts runs the step over the feedback posts in a partition of by-g1.
func (s Step) Posts(ctx context.Context, p table.Platform, partition string) (Rebuilt, error) {
	out := Rebuilt{Examined: map[string]int{}, Differed: map[string]int{}, Keys: map[string][]string{}}
	err := s.walk(ctx, p.Handle, partition, func(keys []table.Key) error {
		changed, err := s.Platform(ctx, p, keys)
		out.add("post", len(keys), changed)
		return err
	})
	return out, err
}

func (r *Rebuilt) add(kind string, examined int, changed []table.Key) {
	r.Examined[kind] += examined
	r.Differed[kind] += len(changed)
	for _, key := range changed {
		if len(r.Keys[kind]) < rebuildNamed {
			r.Keys[kind] = append(r.Keys[kind], key.PK)
		}
	}
}

// walk iterates over the keys of a partition of by-g1, a few at a time.
func (s Step) walk(ctx context.Context, h table.Handle, partition string, do func([]table.Key) error) error {
	for items, err := range h.Pages(ctx, partition, table.Query{Index: 1, Limit: rebuildPage}) {
		if err == nil {
			err = inChunks(items, do)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inChunks iterates over the keys of the items, a few at a time.
func inChunks(items []table.Item, do func([]table.Key) error) error {
	for chunk := range slices.Chunk(items, itemsPerRebuild) {
		if err := do(keysOf(chunk)); err != nil {
			return err
		}
	}
	return nil
}
