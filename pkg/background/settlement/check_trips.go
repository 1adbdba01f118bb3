package settlement

import (
	"context"
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
	item := reconcile.Item{Name: "the trips of " + it.PK, Handle: t.Handle, Key: it.Key, Read: &it,
		Looks: confirmations}
	return item.Check(ctx, c.Run, func(look int, it table.Item) (*reconcile.Finding, error) {
		have := it.Int("totalTrips")
		want, err := settledTrips(ctx, t, side, it.PK[strings.LastIndexByte(it.PK, '#')+1:], look > 0)
		if err != nil || have == want {
			return nil, err
		}
		f := reconcile.Wrong("totalTrips", it.PK, fmt.Sprint(want), fmt.Sprint(have))
		f.Early, f.Off = look == 0, fmt.Sprint(have-want)
		f.Correct = func() error {
			tx := t.Write()
			tx.Update(it.Key, table.Change{Set: map[string]any{"totalTrips": want}, Add: map[string]any{"version": 1}}).
				If("'version' = ?", it.Version)
			return tx.Commit(ctx)
		}
		return f, nil
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
