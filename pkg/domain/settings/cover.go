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

// An active zone is also stored as its cover: a few S2 cells that together contain the
// zone. Each cell is an entry with the part of the zone's outline in the cell. A request
// for a ride reads the entries of the cells at its origin instead of all zones. A zone that
// is not active has no entries.

// byCell is the number of the index of the entries by cell: by-g1.
const byCell = 1

// leastCells and mostCells bound the number of cells that a cover may have. A transaction
// writes the new cover and deletes the old one, so twice mostCells must fit into it.
const leastCells, mostCells = 8, 36

// positionsPerCell is the number of positions of a zone's outline for which its cover may
// have one more cell.
const positionsPerCell = 32

var _ = table.Kind[any]{Type: "zonecell", Personal: "nothing",
	Once: "derived from its zone, of which it has every member"}

// coverPartition returns the partition of the entries of a zone's cover.
func coverPartition(t table.Tenant, zone string) string { return t.Partition("ZONE", zone) }

// coverOf returns the entries of a zone's cover, by key.
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
			it.R = "#" + z.ID // full cells sort before those whose outline must be checked
		}
		it.G[byCell-1] = t.Partition("ZONES", c.Token)
		entries[it.Key] = it
	}
	return entries, nil
}

// writeCover adds the new cover of a zone to the transaction that changes the zone from
// was to now. For a removed zone, now is the zero value.
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

// change adds to the transaction the puts and deletes that turn the entries old into
// next. It reports whether there are any.
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

// CoverZone brings the stored cover of a zone up to date. An older build may have changed
// or removed the zone without its cover. If the cover is right, CoverZone writes nothing.
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
					entry.Doc = nil // cannot be read, so it is replaced
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

// zonesPerPage is how many zones CoverZones reads with one request.
const zonesPerPage = 50

// inCover reports whether an active zone contains the point, by the covers of the zones.
//
// Access pattern: by-g1 T#t#ZONES#cell, for each cell that holds the point.
func inCover(ctx context.Context, t table.Tenant, lat, lng json.Number) (bool, error) {
	points, err := location.Sides(lat, lng)
	if err != nil {
		return false, err
	}
	found := errors.New("found") // this error of one read ends the other reads
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
