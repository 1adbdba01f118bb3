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

// rating is the rating that a trip gave to one person, as the projection counted it.
type rating struct {
	Actor  string `json:"driver"` // the driver or rider who is rated
	Points int    `json:"points"`
}

// ratings are sums and numbers of ratings. The key is that of the record of the driver or
// rider.
type ratings map[table.Key]struct{ sum, count int }

// add adds the ratings that were counted of a trip; with the sign -1 it subtracts them.
// It keeps no entry of zeros.
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

// readRated sets the field rated of each piece: the records of the drivers and riders
// whose ratings the piece changes. It omits those who do not exist or were erased.
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

// ratings returns how the piece changes ratings: what counts now minus what was counted.
func (p piece) ratings(t table.Tenant) ratings {
	out := ratings{}
	out.add(t, p.next, 1)
	out.add(t, p.was, -1)
	return out
}

// addPiece adds the piece's changes of ratings, but only for the drivers and riders whom
// readRated found.
func (r ratings) addPiece(t table.Tenant, p piece) {
	for key, change := range p.ratings(t) {
		if slices.Contains(p.rated, key) {
			one := r[key]
			one.sum, one.count = one.sum+change.sum, one.count+change.count
			r[key] = one
		}
	}
}

// write adds the sums and numbers to the records of the drivers and riders.
func (r ratings) write(tx *table.Tx) {
	for _, key := range slices.SortedFunc(maps.Keys(r), func(a, b table.Key) int { return strings.Compare(a.PK, b.PK) }) {
		account.NotErased(tx.Update(key, table.Change{Add: map[string]any{"ratingSum": r[key].sum,
			"ratingCount": r[key].count, "version": 1}}))
	}
}
