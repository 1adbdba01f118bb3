package projection

import (
	"context"
	"fmt"
	"slices"

	"svc/pkg/background/reconcile"
	"svc/pkg/data/table"
)

// Posts checks the feedback posts in a partition of by-g1: their counters and their rank
// rows (a post's rows in the sorted lists). It also looks for rank rows that belong to no
// post, in the partitions that PostRanks returns for "" and for each category of the
// posts.
func (c *Check) Posts(ctx context.Context, p table.Platform, partition string) error {
	categories := map[string]bool{"": true}
	err := c.walk(ctx, p.Handle, partition, func(keys []table.Key) error {
		for _, key := range keys {
			if err := c.counts(ctx, p, key); err != nil {
				return err
			}
		}
		return c.rows(ctx, p.Handle, keys, func(p piece) []table.Item {
			categories[p.item.Text("category")] = true
			return c.rankRows(p.item)
		})
	})
	if err != nil || c.PostRanks == nil {
		return err
	}
	for category := range categories {
		for _, partition := range c.PostRanks(category) {
			if err := c.strays(ctx, p, partition); err != nil {
				return err
			}
		}
	}
	return nil
}

// counts checks the counters of one post: its votes and comments. One transaction writes
// a vote or comment and the counter, so both agree if the post does not change during the
// reads.
func (c *Check) counts(ctx context.Context, p table.Platform, key table.Key) error {
	item := reconcile.Item{Name: "the counters of " + key.PK, Handle: p.Handle, Key: key, Looks: confirmations}
	return item.Check(ctx, c.Run, func(_ int, post table.Item) (*reconcile.Finding, error) {
		wrong, err := c.miscounted(ctx, p, post)
		if err != nil {
			return nil, err
		}
		if len(wrong) == 0 {
			c.Count("post", 1)
			return nil, nil
		}
		f, set, off := &reconcile.Finding{}, map[string]any{}, map[string]int64{}
		for name, n := range wrong {
			set[name], off[name] = n, post.Int(name)-n
			f.Add("counter", key.PK+" "+name, fmt.Sprint(n), string(post.Number(name)))
		}
		f.Off = fmt.Sprint(off)
		f.Correct = func() error {
			tx := p.Write()
			tx.Update(key, table.Change{Set: set, Add: map[string]any{"version": 1}}).If("'version' = ?", post.Version)
			if err := tx.Commit(ctx); err != nil {
				return err
			}
			_, err := c.Step.Platform(ctx, p, []table.Key{key})
			return err
		}
		return f, nil
	})
}

// miscounted counts the votes and comments of a post (PostCounts). It returns the
// right values of the wrong counters.
func (c *Check) miscounted(ctx context.Context, p table.Platform, post table.Item) (map[string]int64, error) {
	wrong := map[string]int64{}
	for name, prefix := range c.PostCounts {
		n := int64(0)
		q := table.Query{Prefix: prefix, Limit: rebuildPage, Consistent: true}
		for items, err := range p.Pages(ctx, post.PK, q) {
			if err != nil {
				return nil, err
			}
			n += int64(len(items))
		}
		if n != post.Int(name) {
			wrong[name] = n
		}
	}
	return wrong, nil
}

// strays checks that each rank row of a partition belongs to its post. It ignores rows
// that expire. Older builds wrote such rows with a new post, and the post may have
// changed before the projection processed it.
func (c *Check) strays(ctx context.Context, p table.Platform, partition string) error {
	for items, err := range p.Pages(ctx, partition, table.Query{Limit: rebuildPage, Consistent: true}) {
		if err != nil {
			return err
		}
		for rows := range slices.Chunk(items, itemsPerRebuild) {
			if err := c.stray(ctx, p, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// stray checks that each of the given rank rows belongs to its post (strays).
func (c *Check) stray(ctx context.Context, p table.Platform, rows []table.Item) error {
	c.Count("rank row", len(rows))
	return reconcile.Each(ctx, c.Run, "rank rows", reconcile.Patience, rows, func(look int, rows []table.Item) (
		[]*reconcile.Finding, error) {
		if look > 0 {
			var err error
			if rows, err = p.Batch(ctx, keysOf(rows)...); err != nil {
				return nil, err
			}
		}
		posts := make([]table.Key, len(rows))
		for i, row := range rows {
			posts[i] = p.Key("POST", row.Text("post"), "POST")
		}
		pieces, err := c.pieces(ctx, p.Handle, posts)
		if err != nil {
			return nil, err
		}
		out := make([]*reconcile.Finding, len(rows))
		for i, of := range pieces {
			row := rows[i]
			if !row.Found() || !row.Expires.IsZero() || c.belongs(row, of) {
				continue
			}
			out[i] = reconcile.Wrong("row", row.PK+" "+row.SK, "not there", "there, of "+of.key.PK)
			out[i].Correct = func() error { return c.removeStray(ctx, p, row, of) }
		}
		return out, nil
	})
}

// belongs reports whether the rank row is one of the post. If the post exists, belongs
// also accepts the rows that COUNTED lists, because Check.rows checks those.
func (c *Check) belongs(row table.Item, of piece) bool {
	if of.item.Found() && slices.Contains(of.was.Ranks, row.Key) {
		return true
	}
	return slices.ContainsFunc(c.rankRows(of.item), func(r table.Item) bool { return r.Key == row.Key })
}

// removeStray deletes a rank row, on the condition that neither the post nor what was
// counted of it has changed.
func (c *Check) removeStray(ctx context.Context, p table.Platform, row table.Item, of piece) error {
	tx := p.Write()
	for key, was := range map[table.Key]table.Item{of.key: of.item, CountedKey(of.key): of.stored} {
		if was.Found() {
			tx.Check(key).If("'version' = ?", was.Version)
		} else {
			tx.Check(key).If("attribute_not_exists(pk)")
		}
	}
	tx.Delete(row.Key).If("'post' = ?", row.Text("post"))
	return tx.Commit(ctx)
}
