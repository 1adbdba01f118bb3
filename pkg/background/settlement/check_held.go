package settlement

import (
	"context"

	"github.com/shopspring/decimal"

	"svc/pkg/background/reconcile"
	"svc/pkg/data/table"
	"svc/pkg/domain/wallet"
)

// held checks that the amount held in a driver's wallet equals the sum of the driver's
// open withdrawals. One transaction writes both, but the withdrawals come from an
// index, which may lag behind.
func (c *Check) held(ctx context.Context, t table.Tenant, driver string, it table.Item) error {
	item := reconcile.Item{Name: "what " + it.PK + " holds", Handle: t.Handle, Key: it.Key, Read: &it,
		Looks: confirmations}
	return item.Check(ctx, c.Run, func(_ int, it table.Item) (*reconcile.Finding, error) {
		have, err := wallet.FromItem(it)
		if err != nil {
			return nil, err
		}
		want, err := asked(ctx, t, driver)
		if err != nil || have.Held.Equal(want) {
			return nil, err
		}
		f := reconcile.Wrong("held", it.PK, want.String(), have.Held.String())
		f.Off = have.Held.Sub(want).String()
		f.Correct = func() error {
			flags, _, err := holderOf(ctx, t, wallet.Driver, driver)
			if err != nil {
				return err
			}
			have.Held = want
			return rewrite(ctx, t, it, have, flags)
		}
		return f, nil
	})
}

// asked returns the sum of a driver's withdrawals that are requested and not yet
// decided.
func asked(ctx context.Context, t table.Tenant, driver string) (sum decimal.Decimal, err error) {
	partition, index := wallet.WithdrawalsOf(t, driver)
	q := table.Query{Index: index, Limit: table.Examined,
		Where: []table.Condition{{Name: "status", Value: wallet.Asked}}}
	for items, err := range t.Pages(ctx, partition, q) {
		if err != nil {
			return sum, err
		}
		for _, it := range items {
			w, err := wallet.WithdrawalKind.FromItem(it)
			if err != nil {
				return sum, err
			}
			sum = sum.Add(w.Amount.Decimal())
		}
	}
	return sum, nil
}
