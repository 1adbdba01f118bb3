package settlement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// Difference is a stored value that does not match what the settlement of the
// trips should have written.
type Difference struct {
	What string `json:"what"` // "balance", "rank", "receipt", "posting" or "totalTrips"
	Key  string `json:"key"`
	Want string `json:"want"`
	Have string `json:"have"`
}

// Check compares receipts, postings and trip counts with completed trips, and
// balances with postings. With Correct it also corrects them, except the receipt
// of a trip that is not completed: a person must decide. It may run while trips
// are settled, because it reads the items of every difference again before it
// reports the difference.
type Check struct {
	Correct bool
	Now     func() time.Time
	Found   func(Difference)
	// Compared, if not nil, receives how many items of a kind were compared.
	Compared func(kind string, n int)
	// Wait, if not nil, replaces the waits between two looks at a difference.
	Wait func(context.Context, time.Duration) error
}

func (c *Check) compared(kind string, n int) {
	if c.Compared != nil {
		c.Compared(kind, n)
	}
}

const (
	checkPage = 200
	// looks is the number of looks at a wrong receipt or posting before it is
	// reported. Their pauses take almost three seconds. A check of a wallet or
	// of totalTrips fails after 10 * looks.
	looks = 16
)

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

// scan walks a partition of by-g1.
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

// pause waits between two looks.
func (c *Check) pause(ctx context.Context, look int) error {
	d := min(time.Duration(look)*20*time.Millisecond, 300*time.Millisecond)
	if c.Wait != nil {
		return c.Wait(ctx, d)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// wallets checks the wallets in a list. For a list of holders, it checks those
// without a wallet, because they may have postings.
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
				continue // checked with the other list
			}
			if listed {
				c.compared("wallet", 1)
			}
			if err := c.wallet(ctx, t, side, actors[from+i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// wallet checks one wallet. One transaction writes the balance and the posting,
// so both agree if the wallet did not change during the reads.
func (c *Check) wallet(ctx context.Context, t table.Tenant, side wallet.Side, actor string) error {
	key, said := wallet.Key(t, side, actor), false
	for look := range 10 * looks {
		it, err := t.Get(ctx, key)
		if err != nil {
			return err
		}
		sum, last, err := total(ctx, t, key)
		if err != nil {
			return err
		}
		have, err := wallet.FromItem(it)
		if err != nil && !errors.Is(err, fault.NotFound()) {
			return err
		}
		rank := wallet.Rank(have.Balance) + "#" + actor
		balanced, ranked := have.Balance.Equal(sum) && (it.Found() || last == ""), !it.Found() || it.R == rank
		if balanced && ranked {
			return nil
		}
		again, err := t.Get(ctx, key)
		if err != nil {
			return err
		}
		if again.Version != it.Version || again.Found() != it.Found() {
			if err := c.pause(ctx, look); err != nil {
				return err
			}
			continue
		}
		if !said {
			said = true
			if !balanced {
				c.Found(Difference{"balance", key.PK, string(money.Number(sum)), string(money.Number(have.Balance))})
			}
			if !ranked {
				c.Found(Difference{"rank", key.PK, rank, it.R})
			}
		}
		if !c.Correct {
			return nil
		}
		if err := c.rebalance(ctx, t, it, side, actor, sum, last); !errors.Is(err,
			table.ErrCondition) && !errors.Is(err, table.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("the wallet %s kept changing while the check read it; run the check again when fewer trips "+
		"are settled", key.PK)
}

// total sums up a wallet's postings; last is the time of the newest posting.
func total(ctx context.Context, t table.Tenant, key table.Key) (sum decimal.Decimal, last string, err error) {
	q := table.Query{Prefix: "POSTING#", Limit: table.Examined, Consistent: true}
	for items, err := range t.Pages(ctx, key.PK, q) {
		if err != nil {
			return sum, "", err
		}
		for _, it := range items {
			var p wallet.Posting
			if err := it.Decode(&p); err != nil {
				return sum, "", err
			}
			amount, err := money.Parse(p.Amount)
			if err != nil {
				return sum, "", err
			}
			sum, last = sum.Add(amount), max(last, p.CreatedAt)
		}
	}
	return sum, last, nil
}

// rebalance writes the sum of the wallet's postings as its balance. It creates
// the wallet if there is none.
func (c *Check) rebalance(ctx context.Context, t table.Tenant, it table.Item, side wallet.Side, actor string,
	sum decimal.Decimal, last string) error {
	flags, holder, err := holderOf(ctx, t, side, actor)
	if err != nil {
		return err
	}
	tx, shards := t.Write(), max(1, int(flags.Int("writeShards")))
	w := wallet.Wallet{Side: side, Actor: actor, Balance: sum, UpdatedAt: last, Version: 1}
	if it.Found() {
		if w, err = wallet.FromItem(it); err != nil {
			return err
		}
		w.Balance = sum
		next := w.Item(t, shards)
		next.Preserve = it.Unknown()
		tx.Replace(next)
		return tx.Commit(ctx)
	}
	w.Name, w.Currency = nameOf(holder), flags.Text("currency")
	tx.Create(w.Item(t, shards))
	return tx.Commit(ctx)
}

// holderOf reads the tenant's flags, and the driver or customer of a wallet.
func holderOf(ctx context.Context, t table.Tenant, side wallet.Side, actor string) (flags, holder table.Item,
	err error) {
	var reads table.Reads
	reads.Add(t.Handle, authz.FlagsKey(t, 0), &flags)
	reads.Add(t.Handle, authz.ActorKey(t, audienceOf(side), actor), &holder)
	err = reads.Do(ctx)
	return flags, holder, err
}

// documents returns the JSON of two documents.
func documents(a, b any) (string, string, error) {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return string(x), string(y), errors.Join(errX, errY)
}

// receipts checks the receipts and postings of some trips. Each completed trip
// has a receipt and postings that match it; no other trip has a receipt.
func (c *Check) receipts(ctx context.Context, t table.Tenant, items []table.Item) error {
	c.compared("trip", len(items))
	var keys []table.Key
	for _, it := range items {
		keys = append(keys, it.Key)
	}
	for look := 0; len(keys) > 0; look++ {
		if look > 0 {
			if err := c.pause(ctx, look); err != nil {
				return err
			}
		}
		var left []table.Key
		for from := 0; from < len(keys); from += 50 {
			some := keys[from:min(from+50, len(keys))]
			faults, err := c.compare(ctx, t, some)
			if err != nil {
				return err
			}
			for i, w := range faults {
				switch {
				case w == nil:
				case look < looks:
					left = append(left, some[i])
				default:
					c.Found(w.Difference)
					if c.Correct && w.correct != nil {
						if err := w.correct(ctx); err != nil {
							return err
						}
					}
				}
			}
		}
		keys = left
	}
	return nil
}

// wrong describes an error in what the settlement of a trip wrote. correct is
// nil if a person must decide.
type wrong struct {
	Difference
	correct func(context.Context) error
}

// compare returns the errors in the receipts and postings of at most 50 trips.
func (c *Check) compare(ctx context.Context, t table.Tenant, keys []table.Key) ([]*wrong, error) {
	both := append([]table.Key{}, keys...)
	for _, key := range keys {
		both = append(both, ReceiptKey(t, key.PK[strings.LastIndexByte(key.PK, '#')+1:]))
	}
	items, err := t.Batch(ctx, both...)
	if err != nil {
		return nil, err
	}
	out, trips := make([]*wrong, len(keys)), make([]trip.Trip, len(keys))
	for i := range keys {
		if !items[i].Found() {
			continue
		}
		if trips[i], err = trip.FromItem(items[i]); err != nil {
			return nil, err
		}
		if out[i], err = c.receipt(t, trips[i], items[len(keys)+i]); err != nil {
			return nil, err
		}
	}
	return out, c.postings(ctx, t, trips, out)
}

func (c *Check) receipt(t table.Tenant, tr trip.Trip, it table.Item) (*wrong, error) {
	if tr.Status != trip.Completed {
		if it.Found() { // a person must decide, because it is unknown whether the trip was paid
			return &wrong{Difference: Difference{"receipt", it.PK, "none: the trip is " + string(tr.Status),
				"there"}}, nil
		}
		return nil, nil
	}
	if !it.Found() {
		return &wrong{Difference: Difference{"receipt", ReceiptKey(t, tr.ID).PK, "there", "none"},
			correct: func(ctx context.Context) error {
				_, err := resettle(ctx, t, tr, c.Now())
				return err
			}}, nil
	}
	entries, err := EntriesOf(tr)
	if err != nil {
		return nil, err
	}
	var have Receipt
	decoded := it.Decode(&have) == nil
	if !decoded || have.ID == "" || have.IssuedAt == "" {
		have.ID, have.IssuedAt = ids.New(ids.Receipt, c.Now()), timestamp.Format(c.Now())
	}
	want := ReceiptItem(t, ReceiptOf(tr, entries, have.ID, have.IssuedAt))
	text, old, err := documents(want.Doc, have)
	if err != nil || (decoded && text == old) {
		return nil, err
	}
	return &wrong{Difference: Difference{"receipt", it.PK, text, old}, correct: func(ctx context.Context) error {
		tx := t.Write()
		want.Preserve = it.Unknown()
		tx.Put(want).If("attribute_exists(pk)")
		return table.Retry(ctx, tx.Commit)
	}}, nil
}
