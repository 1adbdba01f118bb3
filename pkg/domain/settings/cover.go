package settings

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"svc/pkg/access/authz"
	"svc/pkg/base/panics"
	"svc/pkg/data/table"
	"svc/pkg/domain/location"
)

// A zone's cover is an entry for each of some cells, with what is in the cell of the
// zone's outline. A ride reads the entries of the cells that hold its origin, and no
// zone. A zone that is not active has no entries.

// byCell is the index of the entries by cell.
const byCell = 1

// leastCells and mostCells bound a cover. A transaction writes a new cover and deletes
// the old one, so twice mostCells must leave it room.
const leastCells, mostCells = 8, 36

// positionsPerCell is how many positions of a zone earn it a cell more.
const positionsPerCell = 32

var _ = table.Kind[any]{Type: "zonecell", Personal: "nothing",
	Once: "derived from its zone, of which it has every member"}

// coverPartition returns the partition of a zone's entries.
func coverPartition(t table.Tenant, zone string) string { return t.Partition("ZONE", zone) }

// coverOf returns the entries of a zone, by key.
func coverOf(t table.Tenant, z Zone) (map[table.Key]table.Item, error) {
	entries := map[table.Key]table.Item{}
	if !z.Active {
		return entries, nil
	}
	o, err := z.Area.outline()
	if err != nil {
		return nil, fmt.Errorf("cover of zone %s: %w", z.ID, err)
	}
	for _, c := range location.Cover(o, min(leastCells+o.positions()/positionsPerCell, mostCells)) {
		it := table.Item{Key: t.Key("ZONE", z.ID, "CELL#"+c.Token), Type: "zonecell", R: z.ID, Doc: c.Part.(outline)}
		if c.Full {
			it.R = "#" + z.ID // before those that must be looked at
		}
		it.G[byCell-1] = t.Partition("ZONES", c.Token)
		entries[it.Key] = it
	}
	return entries, nil
}

// writeCover adds the change of a zone's cover to the transaction of the zone's change.
// A zone that is removed has the zero value now.
func writeCover(tx *table.Tx, t table.Tenant, was, now Zone) error {
	old, err := coverOf(t, was)
	if err != nil {
		return err
	}
	next, err := coverOf(t, now)
	if err != nil {
		return err
	}
	change(tx, old, next)
	return nil
}

// change makes the entries old into next.
func change(tx *table.Tx, old, next map[table.Key]table.Item) (changed bool) {
	for key := range old {
		if _, stays := next[key]; !stays {
			tx.Delete(key)
			changed = true
		}
	}
	for key, it := range next {
		if was, ok := old[key]; !ok || was.R != it.R || !reflect.DeepEqual(was.Doc, it.Doc) {
			tx.Put(it)
			changed = true
		}
	}
	return changed
}

// CoverZone brings the cover of a zone up to date, also of one that an older build
// changed or removed. It writes nothing if the cover is right.
//
// Access pattern: T#t#ZONE#zone, strongly consistent.
func CoverZone(ctx context.Context, t table.Tenant, id string) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := t.Get(ctx, ZoneKey(t, id))
		if err != nil {
			return err
		}
		var z Zone
		if it.Found() {
			if z, err = ZoneKind.FromItem(it); err != nil {
				return err
			}
		}
		next, err := coverOf(t, z)
		if err != nil {
			return err
		}
		old := map[table.Key]table.Item{}
		for items, err := range t.Pages(ctx, coverPartition(t, id), table.Query{Limit: maxListed, Consistent: true}) {
			if err != nil {
				return err
			}
			for _, entry := range items {
				entry.Doc, err = table.DecodeDoc[outline](entry)
				if err != nil {
					entry.Doc = nil // written anew
				}
				old[entry.Key] = entry
			}
		}
		tx := t.Write()
		if !change(tx, old, next) {
			return nil
		}
		if it.Found() {
			tx.Check(it.Key).If("'version' = ?", it.Version).Else(table.ErrConflict)
		} else {
			tx.Check(ZoneKey(t, id)).If("attribute_not_exists(pk)").Else(table.ErrConflict)
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("cover of zone %s: %w", id, err)
	}
	return nil
}

// CoverZones brings the covers of all zones of a tenant up to date. Then it sets
// authz.ZonesCovered in the tenant's flags, so that rides read the covers instead of the
// zones. Zones may change at the same time.
func CoverZones(ctx context.Context, t table.Tenant) error {
	pages := t.Pages(ctx, Key(t).PK, table.Query{Prefix: zonePrefix, Limit: zonesPerPage, Consistent: true})
	for items, err := range pages {
		if err != nil {
			return fmt.Errorf("covers of zones: %w", err)
		}
		for _, it := range items {
			if err := CoverZone(ctx, t, it.SK[len(zonePrefix):]); err != nil {
				return err
			}
		}
	}
	keys := make([]table.Key, authz.Copies)
	for n := range keys {
		keys[n] = authz.FlagsKey(t, n)
	}
	flags, err := t.Batch(ctx, keys...)
	if err != nil {
		return fmt.Errorf("flags of covered zones: %w", err)
	}
	for n := range authz.Copies {
		if flags[n].Flag(authz.ZonesCovered) {
			continue
		}
		tx := t.Write()
		tx.Update(authz.FlagsKey(t, n), table.Change{Set: map[string]any{authz.ZonesCovered: true}}).
			If("attribute_exists(pk)")
		if err := tx.Commit(ctx); err != nil && !errors.Is(err, table.ErrCondition) {
			return fmt.Errorf("flags of covered zones: %w", err)
		}
	}
	return nil
}

// zonesPerPage is how many zones one request reads whose covers are checked.
const zonesPerPage = 50

// inCover reports whether an active zone contains the point, by the covers.
//
// Access pattern: by-g1 T#t#ZONES#cell, for each cell that holds the point.
func inCover(ctx context.Context, t table.Tenant, lat, lng json.Number) (bool, error) {
	points, err := location.Sides(lat, lng)
	if err != nil {
		return false, err
	}
	found := errors.New("found") // ends the other reads
	group, ctx := panics.WithContext(ctx)
	for _, point := range points {
		for _, token := range location.Coverings(point) {
			group.Go(func() error {
				for items, err := range t.Pages(ctx, t.Partition("ZONES", token),
					table.Query{Index: byCell, Limit: maxListed}) {
					if err != nil {
						return err
					}
					for _, it := range items {
						if o, err := table.DecodeDoc[outline](it); err != nil || o.contains(point) {
							return cmp.Or(err, found)
						}
					}
				}
				return nil
			})
		}
	}
	if err = group.Wait(); errors.Is(err, found) {
		return true, nil
	}
	return false, err
}
