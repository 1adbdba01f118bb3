package settlement

import (
	"context"
	"fmt"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/background/reconcile"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// confirmations is how many looks must find the same wrong count before it is
// reported, because an index may lag behind the table.
const confirmations = 5

// audienceOf returns the audience of a wallet's holder.
func audienceOf(side wallet.Side) authz.Audience {
	if side == wallet.Driver {
		return authz.Driver
	}
	return authz.Rider
}

// tripCounts checks the field totalTrips of some drivers or customers.
func (c *Check) tripCounts(ctx context.Context, t table.Tenant, side wallet.Side, items []table.Item) error {
	for _, it := range items {
		if err := c.totalTrips(ctx, t, side, it); err != nil {
			return err
		}
	}
	c.Count(map[wallet.Side]string{wallet.Driver: "driver", wallet.Customer: "customer"}[side], len(items))
	return nil
}

// totalTrips checks the number of trips in the record of one driver or customer; it is
// the record as an index shows it. One transaction writes totalTrips and the receipt of a
// trip, so both agree if totalTrips did not change during the reads. The receipts are
// read only if the trips alone disagree.
func (c *Check) totalTrips(ctx context.Context, t table.Tenant, side wallet.Side, it table.Item) error {
	key := it.Key
	own := trips{t: t, side: side, actor: key.PK[strings.LastIndexByte(key.PK, '#')+1:]}
	b := books{read: own.settled, bound: timestamp.Format(c.Now().Add(-recent))}
	return c.Until(ctx, "the trips of "+key.PK, c.Confirm(confirmations, func(look int) (*reconcile.Finding, error) {
		if look == 0 {
			all, err := own.count(ctx, "", "", table.Examined, nil)
			if err != nil || all.n == it.Int("totalTrips") {
				return nil, err
			}
			return &reconcile.Finding{Early: true}, nil
		}
		it, err := t.Get(ctx, key)
		if err != nil || !it.Found() {
			return nil, err
		}
		all, err := b.look(ctx, look)
		have := it.Int("totalTrips")
		if err != nil || have == all.n {
			return nil, err
		}
		f := reconcile.Wrong("totalTrips", key.PK, fmt.Sprint(all.n), fmt.Sprint(have))
		f.Off = fmt.Sprint(have - all.n)
		f.Steady = func() (bool, error) {
			again, err := t.Get(ctx, key)
			return again.Int("totalTrips") == have, err
		}
		if !whole(look) {
			f.Certain = func() (bool, error) { return b.settled(ctx) }
		}
		f.Correct = func() error { return recount(ctx, t, key, have, all.n) }
		return f, nil
	}))
}

// recount sets totalTrips in the record with the key from have to want, on the condition
// that it still is have.
func recount(ctx context.Context, t table.Tenant, key table.Key, have, want int64) error {
	as := "'totalTrips' = ?"
	if have == 0 {
		as += " OR attribute_not_exists('totalTrips')"
	}
	tx := t.Write()
	tx.Update(key, table.Change{Set: map[string]any{"totalTrips": want}, Add: map[string]any{"version": 1}}).If(as, have)
	return tx.Commit(ctx)
}

// trips counts the completed trips of a driver or customer.
type trips struct {
	t     table.Tenant
	side  wallet.Side
	actor string
}

// settled counts the trips that have a receipt and were requested from the time from to
// the time to.
func (o trips) settled(ctx context.Context, from, to string) (tally, error) {
	const keysOfBatchGet = 100
	return o.count(ctx, from, to, keysOfBatchGet, func(found []table.Item) ([]table.Item, error) {
		keys := make([]table.Key, len(found))
		for i, it := range found {
			keys[i] = receipt.Key(o.t, it.PK[strings.LastIndexByte(it.PK, '#')+1:])
		}
		return o.t.Batch(ctx, keys...)
	})
}

// count counts the completed trips that were requested from the time from to the time to;
// "" means no bound. only, unless nil, gets each page and returns the items that count.
func (o trips) count(ctx context.Context, from, to string, page int,
	only func([]table.Item) ([]table.Item, error)) (all tally, err error) {
	partition, index := trip.Own(o.t, audienceOf(o.side), o.actor)
	q := table.Query{Index: index, From: from, To: to, Limit: page,
		Where: []table.Condition{{Name: "status", Value: string(trip.Completed)}, {Name: "imported", Absent: true}}}
	for found, err := range o.t.Pages(ctx, partition, q) {
		if err == nil && only != nil {
			found, err = only(found)
		}
		if err != nil {
			return tally{}, err
		}
		for _, it := range found {
			if it.Found() {
				all.n++
			}
		}
	}
	return all, nil
}
