package projection

import (
	"context"
	"maps"
	"slices"
	"strings"

	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
)

// rating is what was counted of one side's rating of the other.
type rating struct {
	Actor  string `json:"driver"` // the driver or rider who is rated
	Points int    `json:"points"`
}

// ratings are what a transaction adds to the ratings of drivers and riders.
type ratings map[table.Key]struct{ sum, count int }

// readRated finds the drivers and riders who exist among those whose ratings change.
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
	for _, side := range []struct {
		was, next *rating
		key       func(table.Tenant, string) table.Key
	}{{p.was.Rating, p.next.Rating, driver.Key}, {p.was.RiderRating, p.next.RiderRating, customer.Key}} {
		if side.was == side.next || side.was != nil && side.next != nil && *side.was == *side.next {
			continue
		}
		for sign, r := range map[int]*rating{-1: side.was, 1: side.next} {
			if r != nil {
				key := side.key(t, r.Actor)
				one := out[key]
				one.sum, one.count = one.sum+sign*r.Points, one.count+sign
				out[key] = one
			}
		}
	}
	return out
}

// add adds what the piece changes for those who exist.
func (r ratings) add(t table.Tenant, p piece) {
	for key, change := range p.ratings(t) {
		if slices.Contains(p.rated, key) {
			one := r[key]
			one.sum, one.count = one.sum+change.sum, one.count+change.count
			r[key] = one
		}
	}
}

// write adds the ratings to the records of those who are rated.
func (r ratings) write(tx *table.Tx) {
	for _, key := range slices.SortedFunc(maps.Keys(r), func(a, b table.Key) int { return strings.Compare(a.PK, b.PK) }) {
		tx.Update(key, table.Change{Add: map[string]any{"ratingSum": r[key].sum, "ratingCount": r[key].count,
			"version": 1}}).If("attribute_exists(pk)")
	}
}
