package projection

import (
	"context"
	"fmt"
	"strconv"

	"svc/pkg/access/authz"
	"svc/pkg/background/reconcile"
	"svc/pkg/data/table"
	"svc/pkg/domain/account"
	"svc/pkg/domain/trip"
)

// ratings checks the sum and the number of the ratings of every driver and rider. stars
// are the ratings that were counted of all trips. They may be outdated, so for each
// record that differs from stars, the person's own trips are read again.
func (c *Check) ratings(ctx context.Context, t table.Tenant, stars ratings) error {
	for _, list := range []struct {
		name string
		side authz.Audience
	}{{"DRIVERS", authz.Driver}, {"CUSTOMERS", authz.Rider}} {
		err := c.each(ctx, t, func(n int) string { return t.Partition(list.name, strconv.Itoa(n)) },
			func(items []table.Item) error {
				c.Count("mean rating", len(items))
				for _, it := range items {
					if starsOf(it) == dueTo(it, stars) {
						continue
					}
					if err := c.rating(ctx, t, it.Key, list.side); err != nil {
						return err
					}
				}
				return nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// starsOf returns the sum and the number of the ratings in the record of a driver or
// rider.
func starsOf(it table.Item) struct{ sum, count int } {
	return struct{ sum, count int }{int(it.Int("ratingSum")), int(it.Int("ratingCount"))}
}

// dueTo returns the sum and the number of ratings that the record must have, by what was
// counted of the trips. The record of a person who was erased has none.
func dueTo(it table.Item, counted ratings) struct{ sum, count int } {
	if account.Erased(it) {
		return struct{ sum, count int }{}
	}
	return counted[it.Key]
}

// rating checks the ratings of one driver or rider. One transaction writes them and
// what was counted of the trip, so both agree if the record did not change during
// the reads. But the trips come from an index, which may lag behind.
func (c *Check) rating(ctx context.Context, t table.Tenant, key table.Key, side authz.Audience) error {
	item := reconcile.Item{Name: "the ratings of " + key.PK, Handle: t.Handle, Key: key, Looks: confirmations}
	return item.Check(ctx, c.Run, func(_ int, it table.Item) (*reconcile.Finding, error) {
		all, err := c.counted(ctx, t, side, idOf(key))
		have, want := starsOf(it), dueTo(it, all)
		if err != nil || have == want {
			return nil, err
		}
		f := reconcile.Wrong("rating", key.PK, fmt.Sprintf("%d in %d", want.sum, want.count),
			fmt.Sprintf("%d in %d", have.sum, have.count))
		f.Off = fmt.Sprint(have, want)
		f.Correct = func() error {
			tx := t.Write()
			tx.Update(key, table.Change{Set: map[string]any{"ratingSum": want.sum, "ratingCount": want.count},
				Add: map[string]any{"version": 1}}).If("'version' = ?", it.Version)
			return tx.Commit(ctx)
		}
		return f, nil
	})
}

// counted adds up the ratings of a driver or rider that were counted of the person's
// trips.
func (c *Check) counted(ctx context.Context, t table.Tenant, side authz.Audience, id string) (ratings, error) {
	out := ratings{}
	partition, index := trip.Own(t, side, id)
	for items, err := range t.Pages(ctx, partition, table.Query{Index: index, Limit: batchKeys}) {
		if err != nil {
			return nil, err
		}
		counted, err := countedOfAll(ctx, t.Handle, keysOf(items))
		if err != nil {
			return nil, err
		}
		for _, was := range counted {
			out.add(t, was, 1)
		}
	}
	return out, nil
}
