package settlement

import (
	"context"
	"errors"
	"time"

	"svc/pkg/background/reconcile"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/wallet"
)

// walletCheck is the check of one wallet: its balance, and its position in the list by
// balance.
type walletCheck struct {
	*Check
	books books
	t     table.Tenant
	key   table.Key
	side  wallet.Side
	actor string

	it    table.Item // the wallet as the last look found it
	rank  string     // the position in the list by balance before the first look
	off   string     // how far off the balance was at the last look
	times int        // looks in a row that found the same off
}

// wallet checks one wallet. it is the wallet as a list read it. One transaction writes
// the balance and the posting. So a wrong balance is off by the same amount at each look,
// even if postings are added between the looks.
func (c *Check) wallet(ctx context.Context, t table.Tenant, side wallet.Side, actor string, it table.Item) error {
	key := wallet.Key(t, side, actor)
	a := &walletCheck{Check: c, t: t, key: key, side: side, actor: actor, rank: it.R}
	a.books = books{read: a.read, first: wallet.PostedAt(time.Time{}), bound: wallet.PostedAt(c.Now().Add(-recent))}
	return c.Until(ctx, "the wallet "+key.PK, c.Confirm(1, func(look int) (*reconcile.Finding, error) {
		all, err := a.books.look(ctx, look)
		if err != nil {
			return nil, err
		}
		return a.compare(ctx, look, all)
	}))
}

// read adds up the postings whose keys are in the range from from to to. The wallet is in
// the same partition: if its key is in the range, read also sets a.it.
func (a *walletCheck) read(ctx context.Context, from, to string) (all tally, err error) {
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

// compare compares the wallet with all, the tally of its postings.
func (a *walletCheck) compare(ctx context.Context, look int, all tally) (*reconcile.Finding, error) {
	it := a.it
	have, err := wallet.FromItem(it)
	if err != nil && !errors.Is(err, fault.NotFound()) {
		return nil, err
	}
	rank := wallet.Rank(have.Balance) + "#" + a.actor
	ranked, off := !it.Found() || it.R == rank, all.sum.Sub(have.Balance)
	balanced := off.IsZero() && (it.Found() || all.n == 0)
	if balanced && (ranked || it.R != a.rank) { // the projection ranks a wallet a moment after it changed
		return nil, nil
	}
	f := &reconcile.Finding{Correct: func() error { return a.rebalance(ctx, it, all) }}
	if balanced {
		f.Early = look < reconcile.Patience
		f.Certain = func() (bool, error) { return a.unchanged(ctx, it) }
	} else {
		f.Add("balance", a.key.PK, all.sum.String(), have.Balance.String())
		f.Off = off.String()
		f.Certain = func() (bool, error) { return a.certain(ctx, look, it, f.Off) }
	}
	if !ranked {
		f.Add("rank", a.key.PK, rank, it.R)
	}
	return f, nil
}

// unchanged reports whether the stored wallet is still the one that was read as it.
func (a *walletCheck) unchanged(ctx context.Context, it table.Item) (bool, error) {
	again, err := a.t.Get(ctx, a.key)
	return err == nil && again.Version == it.Version && again.Found() == it.Found(), err
}

// certain reports whether it is sure that the balance is off by the amount off. It is
// sure if nothing changed during the look, or if several looks in a row found the same
// amount.
func (a *walletCheck) certain(ctx context.Context, look int, it table.Item, off string) (bool, error) {
	if a.off != off {
		a.off, a.times = off, 0
	}
	a.times++
	same, err := a.unchanged(ctx, it)
	if err != nil || !same && a.times < confirmations {
		return false, err
	}
	if whole(look) {
		return same, nil
	}
	return a.books.settled(ctx)
}

// rebalance writes the sum of the postings in all as the wallet's balance. It creates the
// wallet if there is none.
func (a *walletCheck) rebalance(ctx context.Context, it table.Item, all tally) error {
	flags, holder, err := holderOf(ctx, a.t, a.side, a.actor)
	if err != nil {
		return err
	}
	if !it.Found() {
		w := wallet.Wallet{Side: a.side, Actor: a.actor, Balance: all.sum, UpdatedAt: all.last, Version: 1,
			Name: receipt.NameOf(holder), Currency: flags.Text("currency")}
		tx := a.t.Write()
		tx.Create(w.Item(a.t, max(1, int(flags.Int("writeShards")))))
		return tx.Commit(ctx)
	}
	w, err := wallet.FromItem(it)
	if err != nil {
		return err
	}
	w.Balance = all.sum
	return rewrite(ctx, a.t, it, w, flags)
}

// rewrite stores w in the item of the wallet, on the condition that the item is still as
// was. flags are the tenant's.
func rewrite(ctx context.Context, t table.Tenant, was table.Item, w wallet.Wallet, flags table.Item) error {
	next := w.Item(t, max(1, int(flags.Int("writeShards"))))
	next.Preserve = was.Unknown()
	tx := t.Write()
	tx.Replace(next)
	return tx.Commit(ctx)
}
