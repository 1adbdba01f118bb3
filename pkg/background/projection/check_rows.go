package projection

import (
	"context"
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

// suffixes checks the suffix rows of customers, by which a search finds them.
func (c *Check) suffixes(ctx context.Context, t table.Tenant, keys []table.Key) error {
	return c.rows(ctx, t.Handle, keys, func(p piece) []table.Item {
		if p.was.Rows == nil || p.was.Pending {
			return nil // the projection will write the missing rows
		}
		return p.was.Rows.Rows(t, idOf(p.key))
	})
}

// rows checks the search or rank rows of some items: each row that want returns must
// exist, and no other row that the COUNTED item lists.
func (c *Check) rows(ctx context.Context, h table.Handle, keys []table.Key, want func(piece) []table.Item) error {
	patience := reconcile.Patience // the item may have changed since the first read
	if c.Correct {
		patience = 0
	}
	return reconcile.Each(ctx, c.Run, "rows", patience, keys, func(look int, keys []table.Key) (
		out []*reconcile.Finding, err error) {
		pieces, err := c.pieces(ctx, h, keys)
		if err != nil {
			return nil, err
		}
		for _, p := range pieces {
			rows := want(p)
			if look == 0 && p.item.Type == "customer" {
				c.Count("search row", len(rows))
			}
			f, err := c.wrongRows(ctx, h, p, rows)
			if err != nil {
				return nil, err
			}
			out = append(out, f)
		}
		return out, nil
	})
}

// wrongRows compares the stored search or rank rows of an item with want, and returns
// what is wrong, nil if nothing is.
func (c *Check) wrongRows(ctx context.Context, h table.Handle, p piece, want []table.Item) (*reconcile.Finding, error) {
	var keys, stray []table.Key
	var lost []table.Item
	for _, row := range want {
		keys = append(keys, row.Key)
	}
	for _, key := range p.was.Ranks {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	f := &reconcile.Finding{Correct: func() error { return c.correctRows(ctx, h, p, lost, stray) }}
	for chunk := range slices.Chunk(keys, 100) {
		found, err := h.Batch(ctx, chunk...)
		if err != nil {
			return nil, err
		}
		for i, it := range found {
			at := slices.IndexFunc(want, func(row table.Item) bool { return row.Key == chunk[i] })
			name := chunk[i].PK + " " + chunk[i].SK
			switch {
			case at < 0 && it.Found():
				stray = append(stray, chunk[i])
				f.Add("row", name, "not there", "there, of "+p.key.PK)
			case at >= 0 && !alike(want[at], it):
				lost = append(lost, want[at])
				f.Add("row", name, "there, of "+p.key.PK, "missing or of another")
			}
		}
	}
	if len(lost)+len(stray) == 0 {
		return nil, nil
	}
	return f, nil
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

// correctRows writes the rows in lost, which an item lacks, and deletes those in stray,
// which it must not have. It does so on the condition that the item's COUNTED item has
// not changed: otherwise a step may have written the rows meanwhile.
func (c *Check) correctRows(ctx context.Context, h table.Handle, p piece, lost []table.Item, stray []table.Key) error {
	if !p.stored.Found() {
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
		if err := tx.Commit(ctx); err != nil {
			return err
		}
	}
	return nil
}
