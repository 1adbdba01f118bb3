package projection

import (
	"context"
	"errors"

	"svc/pkg/background/reconcile"
	"svc/pkg/data/table"
)

// walletNames checks the names in the wallets of some drivers or customers. A
// check without Correct waits for the projection; one with Correct first runs
// the step.
func (c *Check) walletNames(ctx context.Context, t table.Tenant, keys []table.Key) error {
	wait := reconcile.Patience
	if c.Correct {
		wait = 1
	}
	return c.Until(ctx, "names", func(look int) (done bool, err error) {
		pieces, err := c.pieces(ctx, t.Handle, keys)
		if err != nil {
			return false, err
		}
		wallets := make([]table.Key, len(keys))
		for i, p := range pieces {
			wallets[i] = p.walletKey(t)
		}
		found, err := t.Batch(ctx, wallets...)
		if err != nil {
			return false, err
		}
		keys = nil
		for i, it := range found {
			if look == 0 && it.Found() {
				c.Count("wallet name", 1)
			}
			p := pieces[i]
			if !it.Found() || p.next.Name == "" || p.next.Name == it.Text("name") {
				continue
			}
			if look < wait {
				keys = append(keys, p.key)
				continue
			}
			c.Report("name", it.PK, p.next.Name, it.Text("name"))
			if err := c.correctName(ctx, t, p, it); err != nil {
				return false, err
			}
		}
		if c.Correct && len(keys) > 0 {
			_, err = c.Step.Tenant(ctx, t, keys)
		}
		return len(keys) == 0, err
	})
}

// correctName gives a wallet its holder's name, on the condition that neither
// the wallet nor the holder's COUNTED item has changed. If one of them has
// changed, correctName writes nothing, because a settlement or a step may have
// written the name.
func (c *Check) correctName(ctx context.Context, t table.Tenant, p piece, was table.Item) error {
	if !c.Correct || !p.stored.Found() {
		return nil
	}
	tx := t.Write()
	tx.Check(p.stored.Key).If("'version' = ?", p.stored.Version)
	setName(tx, was.Key, p.next.Name).If("'version' = ?", was.Version)
	err := tx.Commit(ctx)
	if errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrConflict) {
		return nil
	}
	return err
}
