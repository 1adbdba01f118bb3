package settlement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/background/reconcile"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// Check compares receipts, postings and trip counts with completed trips, and balances
// with postings. With Correct it also corrects them, except the receipt of a trip that
// is not completed: a person must decide. It may run while trips are settled, because
// it reads the items of every difference again before it reports the difference. The
// What of a Difference is "balance", "rank", "held", "receipt", "posting" or
// "totalTrips".
type Check struct {
	*reconcile.Run
	Now func() time.Time
}

// checkPage is how many items one page of a check has.
const checkPage = 200

// Tenant checks everything that settlements wrote for a tenant. Postings come
// before balances, because a balance is corrected to the sum of the postings.
func (c *Check) Tenant(ctx context.Context, t table.Tenant) error {
	err := tenant.EachShard(ctx, t, func(shard int) error {
		return scan(ctx, t, t.Partition("TRIPS", strconv.Itoa(shard)), func(items []table.Item) error {
			return c.receipts(ctx, t, items)
		})
	})
	if err != nil {
		return fmt.Errorf("checking receipts: %w", err)
	}
	err = tenant.EachShard(ctx, t, func(shard int) error {
		n := strconv.Itoa(shard)
		for _, list := range []struct {
			side      wallet.Side
			partition string
			wallets   bool // the list contains wallets, not their holders
		}{
			{wallet.Driver, t.Partition("DRIVERS", n), false},
			{wallet.Customer, t.Partition("CUSTOMERS", n), false},
			{wallet.Driver, wallet.Partition(t, wallet.Driver, shard), true},
			{wallet.Customer, wallet.Partition(t, wallet.Customer, shard), true},
		} {
			err := scan(ctx, t, list.partition, func(items []table.Item) error {
				if !list.wallets {
					if err := c.tripCounts(ctx, t, list.side, items); err != nil {
						return err
					}
				}
				return c.wallets(ctx, t, list.side, list.wallets, items)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("checking wallets: %w", err)
	}
	return nil
}

// scan calls do for each page of a partition of by-g1.
func scan(ctx context.Context, t table.Tenant, partition string, do func([]table.Item) error) error {
	for items, err := range t.Pages(ctx, partition, table.Query{Index: 1, Limit: checkPage}) {
		if err == nil {
			err = do(items)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wallets checks the wallets of some actors. If listed, items are wallets from their
// list. Otherwise items are drivers or customers, and only those without a wallet are
// checked, because they may have postings.
func (c *Check) wallets(ctx context.Context, t table.Tenant, side wallet.Side, listed bool, items []table.Item) error {
	actors, keys := make([]string, len(items)), make([]table.Key, len(items))
	for i, it := range items {
		actors[i] = it.PK[strings.LastIndexByte(it.PK, '#')+1:]
		keys[i] = wallet.Key(t, side, actors[i])
	}
	for from := 0; from < len(keys); from += 100 {
		to := min(from+100, len(keys))
		found, err := t.Batch(ctx, keys[from:to]...)
		if err != nil {
			return err
		}
		for i, it := range found {
			if it.Found() != listed {
				continue // the wallet is checked with the other list
			}
			if listed {
				c.Count("wallet", 1)
			}
			if err := c.wallet(ctx, t, side, actors[from+i], it); err != nil {
				return err
			}
			if listed && side == wallet.Driver {
				if err := c.held(ctx, t, actors[from+i], it); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// holderOf reads the tenant's flags, and the driver or customer of a wallet.
func holderOf(ctx context.Context, t table.Tenant, side wallet.Side, actor string) (flags, holder table.Item,
	err error) {
	var reads table.BatchGet
	reads.Add(t.Handle, authz.FlagsKey(t, 0), &flags)
	reads.Add(t.Handle, authz.ActorKey(t, audienceOf(side), actor), &holder)
	err = reads.Do(ctx)
	return flags, holder, err
}

// documents returns the JSON of a and of b.
func documents(a, b any) (string, string, error) {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return string(x), string(y), errors.Join(errX, errY)
}

// receipts checks the receipts and postings of some trips. Each trip that
// settles has a receipt and postings that match it; no other trip has a receipt.
func (c *Check) receipts(ctx context.Context, t table.Tenant, items []table.Item) error {
	c.Count("trip", len(items))
	c.Read(len(items))
	var keys []table.Key
	for _, it := range items {
		keys = append(keys, it.Key)
	}
	return reconcile.Each(ctx, c.Run, "receipts", reconcile.Patience, keys, func(_ int, keys []table.Key) (
		out []*reconcile.Finding, err error) {
		for some := range slices.Chunk(keys, 50) {
			found, err := c.compare(ctx, t, some)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
		return out, nil
	})
}

// compare returns what is wrong with the receipts and postings of at most 50 trips. The
// result has one element for each key, nil if nothing is wrong.
func (c *Check) compare(ctx context.Context, t table.Tenant, keys []table.Key) ([]*reconcile.Finding, error) {
	both := append([]table.Key{}, keys...)
	for _, key := range keys {
		both = append(both, receipt.Key(t, key.PK[strings.LastIndexByte(key.PK, '#')+1:]))
	}
	items, err := t.Batch(ctx, both...)
	if err != nil {
		return nil, err
	}
	out, trips := make([]*reconcile.Finding, len(keys)), make([]trip.Trip, len(keys))
	for i := range keys {
		if !items[i].Found() {
			continue
		}
		if trips[i], err = trip.FromItem(items[i]); err != nil {
			return nil, err
		}
		trips[i] = trips[i].Charged()
		if out[i], err = c.receipt(ctx, t, trips[i], items[len(keys)+i]); err != nil {
			return nil, err
		}
	}
	return out, c.postings(ctx, t, trips, items[len(keys):], out)
}

// receipt checks the receipt of the trip tr, whose item is it. The result is nil if the
// receipt is right.
func (c *Check) receipt(ctx context.Context, t table.Tenant, tr trip.Trip, it table.Item) (*reconcile.Finding, error) {
	if !tr.Settles() {
		if it.Found() { // a person must decide, because it is unknown whether the trip was paid
			return reconcile.Wrong("receipt", it.PK, "none: the trip is "+string(tr.Status), "there"), nil
		}
		return nil, nil
	}
	if !it.Found() {
		f := reconcile.Wrong("receipt", receipt.Key(t, tr.ID).PK, "there", "none")
		f.Correct = func() error {
			_, err := receipt.Resettle(ctx, t, tr, c.Now())
			return err
		}
		return f, nil
	}
	entries, err := receipt.EntriesOf(tr)
	if err != nil {
		return nil, err
	}
	var have receipt.Receipt
	decoded := it.Decode(&have) == nil
	if !decoded || have.ID == "" || have.IssuedAt == "" {
		have.ID, have.IssuedAt = ids.New(ids.Receipt, c.Now()), timestamp.Format(c.Now())
	}
	right := receipt.Of(tr, entries, have.ID, have.IssuedAt, "")
	right.TaxRate, right.Version, right.Correction = have.TaxRate, have.Version, have.Correction
	text, old, err := documents(right, have)
	if err != nil || (decoded && text == old) {
		return nil, err
	}
	f := reconcile.Wrong("receipt", it.PK, text, old)
	f.Correct = func() error {
		tx := t.Write()
		receipt.Replace(tx, it, right)
		return table.Retry(ctx, tx.Commit)
	}
	return f, nil
}
