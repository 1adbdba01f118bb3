package projection

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"svc/pkg/background/reconcile"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// people checks what the projection writes about drivers and customers: the
// names of their wallets, and the suffix rows that make customers searchable.
func (c *Check) people(ctx context.Context, t table.Tenant) error {
	return tenant.EachShard(ctx, t, func(n int) error {
		shard := strconv.Itoa(n)
		err := c.walk(ctx, t.Handle, t.Partition("DRIVERS", shard), func(keys []table.Key) error {
			return c.walletNames(ctx, t, keys)
		})
		if err != nil {
			return err
		}
		return c.walk(ctx, t.Handle, t.Partition("CUSTOMERS", shard), func(keys []table.Key) error {
			if err := c.suffixes(ctx, t, keys); err != nil {
				return err
			}
			return c.walletNames(ctx, t, keys)
		})
	})
}

func (c *Check) suffixes(ctx context.Context, t table.Tenant, keys []table.Key) error {
	return c.rows(ctx, t.Handle, keys, func(p piece) []table.Item {
		if p.was.Rows == nil || p.was.Pending {
			return nil // the step creates them
		}
		return p.was.Rows.Rows(t, idOf(p.key))
	})
}

// rows checks the rows of some items: each expected row exists, and no other row
// that COUNTED lists exists.
func (c *Check) rows(ctx context.Context, h table.Handle, keys []table.Key, want func(piece) []table.Item) error {
	return c.Until(ctx, "rows", func(look int) (done bool, err error) {
		pieces, err := c.pieces(ctx, h, keys)
		if err != nil {
			return false, err
		}
		keys = nil
		for _, p := range pieces {
			rows := want(p)
			if look == 0 && p.item.Type == "customer" {
				c.Count("search row", len(rows))
			}
			lost, stray, err := c.wrongRows(ctx, h, p, rows)
			if err != nil {
				return false, err
			}
			if len(lost)+len(stray) == 0 {
				continue
			}
			if look < reconcile.Patience && !c.Correct { // the item may have changed since the first read
				keys = append(keys, p.key)
				continue
			}
			for _, row := range lost {
				c.Report("row", row.PK+" "+row.SK, "there, of "+p.key.PK, "missing or of another")
			}
			for _, row := range stray {
				c.Report("row", row.PK+" "+row.SK, "not there", "there, of "+p.key.PK)
			}
			if err := c.correctRows(ctx, h, p, lost, stray); err != nil {
				return false, err
			}
		}
		return len(keys) == 0, nil
	})
}

// wrongRows returns the rows that an item lacks and the rows it should not
// have.
func (c *Check) wrongRows(ctx context.Context, h table.Handle, p piece, want []table.Item) (lost []table.Item,
	stray []table.Key, err error) {
	var keys []table.Key
	for _, row := range want {
		keys = append(keys, row.Key)
	}
	for _, key := range p.was.Ranks {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for chunk := range slices.Chunk(keys, 100) {
		found, err := h.Batch(ctx, chunk...)
		if err != nil {
			return nil, nil, err
		}
		for i, it := range found {
			at := slices.IndexFunc(want, func(row table.Item) bool { return row.Key == chunk[i] })
			switch {
			case at < 0 && it.Found():
				stray = append(stray, chunk[i])
			case at >= 0 && !alike(want[at], it):
				lost = append(lost, want[at])
			}
		}
	}
	return lost, stray, nil
}

// alike reports whether a stored row exists and has the expected expiry, and
// the expected attributes post and since.
func alike(want, have table.Item) bool {
	if !have.Found() || have.Expires != want.Expires {
		return false
	}
	for _, name := range []string{"post", "since"} {
		if text, ok := want.Attrs[name].(string); ok && have.Text(name) != text {
			return false
		}
	}
	return true
}

// correctRows writes the rows that an item lacks and deletes its stray ones, on
// the condition that its COUNTED item has not changed. If COUNTED has changed, a
// step may have written the rows meanwhile.
func (c *Check) correctRows(ctx context.Context, h table.Handle, p piece, lost []table.Item, stray []table.Key) error {
	if !c.Correct || !p.stored.Found() {
		return nil
	}
	for len(lost)+len(stray) > 0 {
		tx := h.Write()
		tx.Check(p.stored.Key).If("'version' = ?", p.stored.Version)
		for ; len(lost) > 0 && tx.Len() < maxTxOps; lost = lost[1:] {
			tx.Put(lost[0])
		}
		for ; len(stray) > 0 && tx.Len() < maxTxOps; stray = stray[1:] {
			tx.Delete(stray[0])
		}
		err := tx.Commit(ctx)
		if errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrConflict) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
