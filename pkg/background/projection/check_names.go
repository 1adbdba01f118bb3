package projection

import (
	"context"

	"svc/pkg/background/reconcile"
	"svc/pkg/data/table"
)

// walletNames checks the names in the wallets of some drivers or customers. A check
// without Correct waits until the projection has copied the names; one with Correct first
// runs the projection's step.
func (c *Check) walletNames(ctx context.Context, t table.Tenant, keys []table.Key) error {
	wait := reconcile.Patience
	if c.Correct {
		wait = 1
	}
	return reconcile.Each(ctx, c.Run, "names", wait, keys, func(look int, keys []table.Key) ([]*reconcile.Finding, error) {
		if c.Correct && look > 0 {
			if _, err := c.Step.Tenant(ctx, t, keys); err != nil {
				return nil, err
			}
		}
		pieces, err := c.pieces(ctx, t.Handle, keys)
		if err != nil {
			return nil, err
		}
		wallets := make([]table.Key, len(keys))
		for i, p := range pieces {
			wallets[i] = p.walletKey(t)
		}
		found, err := t.Batch(ctx, wallets...)
		if err != nil {
			return nil, err
		}
		out := make([]*reconcile.Finding, len(keys))
		for i, it := range found {
			p := pieces[i]
			if look == 0 && it.Found() {
				c.Count("wallet name", 1)
			}
			if it.Found() && p.next.Name != "" && p.next.Name != it.Text("name") {
				out[i] = reconcile.Wrong("name", it.PK, p.next.Name, it.Text("name"))
				out[i].Correct = func() error { return c.correctName(ctx, t, p, it) }
			}
		}
		return out, nil
	})
}

// correctName gives a wallet its holder's name. It writes nothing if the wallet or the
// holder's COUNTED item has changed, because a settlement or a step of the projection may
// have written the name.
func (c *Check) correctName(ctx context.Context, t table.Tenant, p piece, was table.Item) error {
	if !p.stored.Found() {
		return nil
	}
	tx := t.Write()
	tx.Check(p.stored.Key).If("'version' = ?", p.stored.Version)
	setName(tx, was.Key, p.next.Name).If("'version' = ?", was.Version)
	return tx.Commit(ctx)
}
