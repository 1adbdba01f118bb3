package projection

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"svc/pkg/background/reconcile"
	"svc/pkg/data/table"
)

// Posts checks the feedback posts in a partition of by-g1: their counters and
// their rank rows. It also looks for rank rows that belong to no post, in the
// partitions that PostRanks returns for "" and for each category of the posts.
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

// counts checks the counters of a post's item. One transaction writes a vote or
// comment and the counter, so both agree if the post does not change during the
// reads.
func (c *Check) counts(ctx context.Context, p table.Platform, key table.Key) error {
	said, same := false, reconcile.Stable{}
	return c.Until(ctx, "the counters of "+key.PK, func(int) (done bool, err error) {
		post, wrong, err := c.miscounted(ctx, p, key)
		if err != nil {
			return false, err
		}
		if len(wrong) == 0 {
			c.Count("post", 1)
			return true, nil
		}
		again, err := p.Get(ctx, key)
		if err != nil || again.Version != post.Version {
			return false, err
		}
		set, off := map[string]any{}, map[string]int64{}
		for name, n := range wrong {
			set[name], off[name] = n, post.Int(name)-n
		}
		if same.Again(fmt.Sprint(off)) < confirmations {
			return false, nil
		}
		for name, n := range wrong {
			if !said {
				c.Report("counter", key.PK+" "+name, fmt.Sprint(n), string(post.Number(name)))
			}
		}
		if said = true; !c.Correct {
			return true, nil
		}
		tx := p.Write()
		tx.Update(key, table.Change{Set: set, Add: map[string]any{"version": 1}}).If("'version' = ?", post.Version)
		if err = tx.Commit(ctx); err == nil {
			_, err = c.Step.Platform(ctx, p, []table.Key{key})
		}
		if errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrConflict) {
			return false, nil
		}
		return true, err
	})
}

// miscounted reads a post and counts its votes and comments (PostCounts). It
// returns the right values of the wrong counters.
func (c *Check) miscounted(ctx context.Context, p table.Platform, key table.Key) (post table.Item,
	wrong map[string]int64, err error) {
	if post, err = p.Get(ctx, key); err != nil || !post.Found() {
		return post, nil, err
	}
	wrong = map[string]int64{}
	for name, prefix := range c.PostCounts {
		n := int64(0)
		q := table.Query{Prefix: prefix, Limit: rebuildPage, Consistent: true}
		for items, err := range p.Pages(ctx, key.PK, q) {
			if err != nil {
				return post, nil, err
			}
			n += int64(len(items))
		}
		if n != post.Int(name) {
			wrong[name] = n
		}
	}
	return post, wrong, nil
}

// strays checks that each row of a partition belongs to its post. It ignores
// rows that expire. Older builds wrote such rows with a new post, and the post
// may have changed before the projection processed it.
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

func (c *Check) stray(ctx context.Context, p table.Platform, rows []table.Item) error {
	c.Count("rank row", len(rows))
	return c.Until(ctx, "rank rows", func(look int) (done bool, err error) {
		if look > 0 {
			if rows, err = p.Batch(ctx, keysOf(rows)...); err != nil {
				return false, err
			}
		}
		rows = slices.DeleteFunc(rows, func(row table.Item) bool { return !row.Found() || !row.Expires.IsZero() })
		posts := make([]table.Key, len(rows))
		for i, row := range rows {
			posts[i] = p.Key("POST", "POST", row.Text("post"))
		}
		pieces, err := c.pieces(ctx, p.Handle, posts)
		if err != nil {
			return false, err
		}
		var left []table.Item
		for i, of := range pieces {
			if c.belongs(rows[i], of) {
				continue
			}
			if look < reconcile.Patience {
				left = append(left, rows[i])
				continue
			}
			c.Report("row", rows[i].PK+" "+rows[i].SK, "not there", "there, of "+of.key.PK)
			if err := c.removeStray(ctx, p, rows[i], of); err != nil {
				return false, err
			}
		}
		rows = left
		return len(rows) == 0, nil
	})
}

// belongs reports whether the post has the row. If the post exists, it also
// accepts the rows that COUNTED lists, because Check.rows checks those.
func (c *Check) belongs(row table.Item, of piece) bool {
	if of.item.Found() && slices.Contains(of.was.Ranks, row.Key) {
		return true
	}
	return slices.ContainsFunc(c.rankRows(of.item), func(r table.Item) bool { return r.Key == row.Key })
}

// removeStray deletes a row of a post, on the condition that neither the post
// nor what was counted of it has changed.
func (c *Check) removeStray(ctx context.Context, p table.Platform, row table.Item, of piece) error {
	if !c.Correct {
		return nil
	}
	tx := p.Write()
	for key, was := range map[table.Key]table.Item{of.key: of.item, CountedKey(of.key): of.stored} {
		if was.Found() {
			tx.Check(key).If("'version' = ?", was.Version)
		} else {
			tx.Check(key).If("attribute_not_exists(pk)")
		}
	}
	tx.Delete(row.Key).If("'post' = ?", row.Text("post"))
	err := tx.Commit(ctx)
	if errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrConflict) {
		return nil
	}
	return err
}
