package projection

import (
	"context"
	"maps"
	"slices"
	"strings"

	"svc/pkg/data/table"
	"svc/pkg/domain/account"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
)

// rating is what was counted of one side's rating of the other.
type rating struct {
	Actor  string `json:"driver"` // the driver or rider who is rated
	Points int    `json:"points"`
}

// ratings are sums and numbers of ratings, by the record of the driver or rider.
type ratings map[table.Key]struct{ sum, count int }

// add adds the ratings that were counted of a trip, or with the sign -1 takes them
// away. It keeps no entry of zeros.
func (r ratings) add(t table.Tenant, c Counted, sign int) {
	for _, side := range []struct {
		counted *rating
		key     func(table.Tenant, string) table.Key
	}{{c.Rating, driver.Key}, {c.RiderRating, customer.Key}} {
		if side.counted == nil {
			continue
		}
		key := side.key(t, side.counted.Actor)
		one := r[key]
		one.sum, one.count = one.sum+sign*side.counted.Points, one.count+sign
		if r[key] = one; one.sum == 0 && one.count == 0 {
			delete(r, key)
		}
	}
}

// readRated finds the drivers and riders who exist, and were not erased, among those whose ratings change.
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
			if slices.ContainsFunc(found, func(it table.Item) bool {
				return it.Key == key && it.Found() && !account.Erased(it)
			}) {
				pieces[i].rated = append(pieces[i].rated, key)
			}
		}
	}
	return err
}

// ratings returns what the piece changes.
func (p piece) ratings(t table.Tenant) ratings {
	out := ratings{}
	out.add(t, p.next, 1)
	out.add(t, p.was, -1)
	return out
}

// addPiece adds what the piece changes for those whom readRated found.
func (r ratings) addPiece(t table.Tenant, p piece) {
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
		account.NotErased(tx.Update(key, table.Change{Add: map[string]any{"ratingSum": r[key].sum,
			"ratingCount": r[key].count, "version": 1}}))
	}
}
