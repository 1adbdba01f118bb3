package settlement

import (
	"context"
	"errors"
	"fmt"

	"github.com/shopspring/decimal"

	"svc/pkg/background/reconcile"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/wallet"
)

// held checks that a driver's wallet holds the sum of the withdrawals that are
// asked for. One transaction writes both, but the withdrawals come from an index,
// which may lag behind.
func (c *Check) held(ctx context.Context, t table.Tenant, driver string, it table.Item) error {
	key, said, same := it.Key, false, reconcile.Stable{}
	return c.Until(ctx, "what "+key.PK+" holds", func(look int) (done bool, err error) {
		if look > 0 {
			if it, err = t.Get(ctx, key); err != nil || !it.Found() {
				return true, err
			}
		}
		have, err := wallet.FromItem(it)
		if err != nil {
			return false, err
		}
		want, err := asked(ctx, t, driver)
		if err != nil || have.Held.Equal(want) {
			return err == nil, err
		}
		again, err := t.Get(ctx, key)
		if err != nil || again.Version != it.Version || same.Again(have.Held.Sub(want).String()) < confirmations {
			return false, err
		}
		if !said {
			said = true
			c.Report("held", key.PK, string(money.Number(want)), string(money.Number(have.Held)))
		}
		if !c.Correct {
			return true, nil
		}
		flags, _, err := holderOf(ctx, t, wallet.Driver, driver)
		if err != nil {
			return false, err
		}
		have.Held = want
		next := have.Item(t, max(1, int(flags.Int("writeShards"))))
		next.Preserve = it.Unknown()
		tx := t.Write()
		tx.Replace(next)
		err = tx.Commit(ctx)
		if errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrConflict) {
			return false, nil
		}
		return true, err
	})
}

// asked returns the sum of a driver's withdrawals that are asked for.
func asked(ctx context.Context, t table.Tenant, driver string) (sum decimal.Decimal, err error) {
	partition, index := wallet.WithdrawalsOf(t, driver)
	q := table.Query{Index: index, Limit: table.Examined,
		Where: []table.Condition{{Name: "status", Value: wallet.Asked}}}
	for items, err := range t.Pages(ctx, partition, q) {
		if err != nil {
			return sum, err
		}
		for _, it := range items {
			w, err := wallet.WithdrawalFromItem(it)
			if err != nil {
				return sum, err
			}
			amount, err := money.Parse(w.Amount)
			if err != nil {
				return sum, fmt.Errorf("withdrawal %s: %w", w.ID, err)
			}
			sum = sum.Add(amount)
		}
	}
	return sum, nil
}
