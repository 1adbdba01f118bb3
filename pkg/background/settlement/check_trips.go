package settlement

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/background/reconcile"
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

// tripCounts checks totalTrips of some drivers or customers.
func (c *Check) tripCounts(ctx context.Context, t table.Tenant, side wallet.Side, items []table.Item) error {
	for _, it := range items {
		if err := c.totalTrips(ctx, t, side, it); err != nil {
			return err
		}
	}
	c.Count(map[wallet.Side]string{wallet.Driver: "driver", wallet.Customer: "customer"}[side], len(items))
	return nil
}

// totalTrips checks one driver or customer, as an index shows it. One
// transaction writes totalTrips and the receipt of a trip, so both agree if the
// item did not change during the reads.
func (c *Check) totalTrips(ctx context.Context, t table.Tenant, side wallet.Side, it table.Item) error {
	key, said, same := it.Key, false, reconcile.Stable{}
	return c.Until(ctx, "the trips of "+key.PK, func(look int) (done bool, err error) {
		if look > 0 {
			if it, err = t.Get(ctx, key); err != nil || !it.Found() {
				return true, err
			}
		}
		have := it.Int("totalTrips")
		want, err := settledTrips(ctx, t, side, key.PK[strings.LastIndexByte(key.PK, '#')+1:], look > 0)
		if err != nil || have == want || look == 0 {
			return have == want, err
		}
		again, err := t.Get(ctx, key)
		if err != nil || again.Version != it.Version || same.Again(fmt.Sprint(have-want)) < confirmations {
			return false, err
		}
		if !said {
			said = true
			c.Report("totalTrips", key.PK, fmt.Sprint(want), fmt.Sprint(have))
		}
		if !c.Correct {
			return true, nil
		}
		tx := t.Write()
		tx.Update(key, table.Change{Set: map[string]any{"totalTrips": want}, Add: map[string]any{"version": 1}}).
			If("'version' = ?", it.Version)
		err = tx.Commit(ctx)
		if errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrConflict) {
			return false, nil
		}
		return true, err
	})
}

// settledTrips counts the completed trips of a driver or customer, and, if
// receipts is set, only those with a receipt.
func settledTrips(ctx context.Context, t table.Tenant, side wallet.Side, actor string, receipts bool) (n int64,
	err error) {
	partition, index := trip.Own(t, audienceOf(side), actor)
	q := table.Query{Index: index, Limit: table.Examined,
		Where: []table.Condition{{Name: "status", Value: string(trip.Completed)}, {Name: "imported", Absent: true}}}
	if receipts {
		q.Limit = 100 // keys of a batch get
	}
	for found, err := range t.Pages(ctx, partition, q) {
		if err != nil {
			return 0, err
		}
		if receipts {
			keys := make([]table.Key, len(found))
			for i, it := range found {
				keys[i] = receipt.Key(t, it.PK[strings.LastIndexByte(it.PK, '#')+1:])
			}
			if found, err = t.Batch(ctx, keys...); err != nil {
				return 0, err
			}
		}
		for _, it := range found {
			if it.Found() {
				n++
			}
		}
	}
	return n, nil
}
