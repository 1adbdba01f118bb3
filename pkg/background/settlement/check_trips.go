package settlement

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
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
		if err := c.totalTrips(ctx, t, side, it.Key); err != nil {
			return err
		}
	}
	c.compared(map[wallet.Side]string{wallet.Driver: "driver", wallet.Customer: "customer"}[side], len(items))
	return nil
}

// totalTrips checks one driver or customer. One transaction writes totalTrips
// and the receipt of a trip, so both agree if the item did not change during
// the reads.
func (c *Check) totalTrips(ctx context.Context, t table.Tenant, side wallet.Side, key table.Key) error {
	last, confirmed := int64(0), 0
	for look := range 10 * looks {
		if look > 0 {
			if err := c.pause(ctx, look); err != nil {
				return err
			}
		}
		it, err := t.Get(ctx, key)
		if err != nil || !it.Found() {
			return err
		}
		have := it.Int("totalTrips")
		want, err := settledTrips(ctx, t, side, key.PK[strings.LastIndexByte(key.PK, '#')+1:], look > 0)
		if err != nil || have == want {
			return err
		}
		again, err := t.Get(ctx, key)
		if err != nil {
			return err
		}
		if look == 0 || again.Version != it.Version {
			continue
		}
		if have-want != last {
			last, confirmed = have-want, 0
		}
		if confirmed++; confirmed < confirmations {
			continue
		}
		if confirmed == confirmations {
			c.Found(Difference{"totalTrips", key.PK, fmt.Sprint(want), fmt.Sprint(have)})
		}
		if !c.Correct {
			return nil
		}
		tx := t.Write()
		tx.Update(key, table.Change{Set: map[string]any{"totalTrips": want}, Add: map[string]any{"version": 1}}).
			If("'version' = ?", it.Version)
		if err := tx.Commit(ctx); !errors.Is(err, table.ErrCondition) && !errors.Is(err, table.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("the trips of %s kept changing while the check read them; run the check again when fewer trips are "+
		"settled", key.PK)
}

// settledTrips counts the completed trips of a driver or customer, and, if
// receipts is set, only those with a receipt.
func settledTrips(ctx context.Context, t table.Tenant, side wallet.Side, actor string, receipts bool) (n int64,
	err error) {
	partition, index := trip.Own(t, audienceOf(side), actor)
	q := table.Query{Index: index, Limit: table.Examined,
		Where: []table.Condition{{Name: "status", Value: string(trip.Completed)}}}
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
				keys[i] = ReceiptKey(t, it.PK[strings.LastIndexByte(it.PK, '#')+1:])
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
