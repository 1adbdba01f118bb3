package settlement

import (
	"context"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/background/reconcile"
	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/wallet"
)

// audit is the check of one wallet.
type audit struct {
	*Check
	books books
	t     table.Tenant
	key   table.Key
	side  wallet.Side
	actor string

	it table.Item // the wallet as the last look found it

	rank string           // of the wallet before the first look
	same reconcile.Stable // how often in a row the balance was off by the same
	off  *decimal.Decimal // by which the balance is off for certain; nil if that is not known
	said map[string]bool  // which differences were reported
}

// wallet checks one wallet, which was read before. One transaction writes the balance and
// the posting. So the balance is off by the same at each look, whatever is posted between.
func (c *Check) wallet(ctx context.Context, t table.Tenant, side wallet.Side, actor string, it table.Item) error {
	key := wallet.Key(t, side, actor)
	a := &audit{Check: c, t: t, key: key, side: side, actor: actor, rank: it.R, said: map[string]bool{}}
	a.books = books{read: a.read, first: wallet.PostedAt(time.Time{}), bound: wallet.PostedAt(c.Now().Add(-recent))}
	return c.Until(ctx, "the wallet "+key.PK, func(look int) (done bool, err error) {
		all, err := a.books.look(ctx, look)
		if err != nil {
			return false, err
		}
		return a.compare(ctx, look, a.it, all)
	})
}

// read adds up the postings with keys from a bound on, up to another. It reads the wallet
// too if it lies between them: both are in one partition.
func (a *audit) read(ctx context.Context, from, to string) (all tally, err error) {
	q := table.Query{From: from, To: to, Limit: table.Examined, Consistent: true}
	if to == "" {
		a.it = table.Item{}
	}
	for items, err := range a.t.Pages(ctx, a.key.PK, q) {
		if err != nil {
			return all, err
		}
		for _, one := range items {
			switch {
			case one.Key == a.key:
				a.it = one
			case one.Type == "posting":
				if err := all.add(one); err != nil {
					return all, err
				}
			}
		}
	}
	return all, nil
}

// compare compares a wallet with the sum of its postings, and corrects it.
func (a *audit) compare(ctx context.Context, look int, it table.Item, all tally) (done bool, err error) {
	have, err := wallet.FromItem(it)
	if err != nil && !errors.Is(err, fault.NotFound()) {
		return false, err
	}
	rank := wallet.Rank(have.Balance) + "#" + a.actor
	ranked := !it.Found() || it.R == rank
	off := all.sum.Sub(have.Balance)
	switch {
	case off.IsZero() && (it.Found() || all.n == 0):
		if ranked || it.R != a.rank { // the projection ranks a wallet a moment after it changed
			return true, nil
		}
		if look < reconcile.Patience {
			return false, nil
		}
		if same, err := a.unchanged(ctx, it); !same {
			return false, err
		}
	case a.off == nil || !a.off.Equal(off):
		if certain, err := a.certain(ctx, look, it, off); !certain {
			return false, err
		}
		a.off = &off
		a.report("balance", string(money.Number(all.sum)), string(money.Number(have.Balance)))
	}
	if !ranked {
		a.report("rank", rank, it.R)
	}
	if !a.Correct {
		return true, nil
	}
	err = a.rebalance(ctx, it, all)
	if errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrConflict) {
		return false, nil
	}
	return true, err
}

func (a *audit) report(what, want, have string) {
	if !a.said[what] {
		a.said[what] = true
		a.Report(what, a.key.PK, want, have)
	}
}

// unchanged reports whether the wallet is as it was read.
func (a *audit) unchanged(ctx context.Context, it table.Item) (bool, error) {
	again, err := a.t.Get(ctx, a.key)
	return err == nil && again.Version == it.Version && again.Found() == it.Found(), err
}

// certain reports whether a balance that a look found to be off by an amount is off by
// that amount. It is if nothing changed during the look, or if several looks in a row
// found the same.
func (a *audit) certain(ctx context.Context, look int, it table.Item, off decimal.Decimal) (bool, error) {
	times := a.same.Again(off.String())
	same, err := a.unchanged(ctx, it)
	if err != nil || !same && times < confirmations {
		return false, err
	}
	if whole(look) {
		return same, nil
	}
	return a.books.settled(ctx)
}

// rebalance writes the sum of the wallet's postings as its balance. It creates the wallet
// if there is none.
func (a *audit) rebalance(ctx context.Context, it table.Item, all tally) error {
	flags, holder, err := holderOf(ctx, a.t, a.side, a.actor)
	if err != nil {
		return err
	}
	tx, shards := a.t.Write(), max(1, int(flags.Int("writeShards")))
	w := wallet.Wallet{Side: a.side, Actor: a.actor, Balance: all.sum, UpdatedAt: all.last, Version: 1}
	if it.Found() {
		if w, err = wallet.FromItem(it); err != nil {
			return err
		}
		w.Balance = all.sum
		next := w.Item(a.t, shards)
		next.Preserve = it.Unknown()
		tx.Replace(next)
		return tx.Commit(ctx)
	}
	w.Name, w.Currency = receipt.NameOf(holder), flags.Text("currency")
	tx.Create(w.Item(a.t, shards))
	return tx.Commit(ctx)
}
