package projection

import (
	"context"
	"maps"
	"slices"
	"strings"

	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
)

// rating is what was counted of a trip's rating.
type rating struct {
	Driver string `json:"driver"`
	Points int    `json:"points"`
}

// ratings are what a transaction adds to the ratings of drivers.
type ratings map[table.Key]struct{ sum, count int }

// readRated finds the drivers who exist among those whose ratings change.
func readRated(ctx context.Context, t *table.Tenant, pieces []piece) error {
	if t == nil {
		return nil
	}
	keys := map[table.Key]bool{}
	for _, p := range pieces {
		for key := range p.ratings(*t) {
			keys[key] = true
		}
	}
	if len(keys) == 0 {
		return nil
	}
	found, err := t.Batch(ctx, slices.Collect(maps.Keys(keys))...)
	for i := range pieces {
		for key := range pieces[i].ratings(*t) {
			if slices.ContainsFunc(found, func(it table.Item) bool { return it.Key == key && it.Found() }) {
				pieces[i].rated = append(pieces[i].rated, key)
			}
		}
	}
	return err
}

// ratings returns what the piece changes.
func (p piece) ratings(t table.Tenant) ratings {
	out := ratings{}
	if p.was.Rating == p.next.Rating || p.was.Rating != nil && p.next.Rating != nil && *p.was.Rating == *p.next.Rating {
		return out
	}
	for sign, r := range map[int]*rating{-1: p.was.Rating, 1: p.next.Rating} {
		if r != nil {
			key := driver.Key(t, r.Driver)
			one := out[key]
			one.sum, one.count = one.sum+sign*r.Points, one.count+sign
			out[key] = one
		}
	}
	return out
}

// add adds what the piece changes for drivers who exist.
func (r ratings) add(t table.Tenant, p piece) {
	for key, change := range p.ratings(t) {
		if slices.Contains(p.rated, key) {
			one := r[key]
			one.sum, one.count = one.sum+change.sum, one.count+change.count
			r[key] = one
		}
	}
}

// write adds the ratings to the records of their drivers.
func (r ratings) write(tx *table.Tx) {
	for _, key := range slices.SortedFunc(maps.Keys(r), func(a, b table.Key) int { return strings.Compare(a.PK, b.PK) }) {
		tx.Update(key, table.Change{Add: map[string]any{"ratingSum": r[key].sum, "ratingCount": r[key].count,
			"version": 1}}).If("attribute_exists(pk)")
	}
}
