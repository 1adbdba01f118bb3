package projection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"svc/pkg/background/reconcile"
	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
)

// Check compares the data that the projection derives (counters, ratings, names, search
// and rank rows) with the items from which it is derived. With Correct it also corrects
// the derived data. Items may change meanwhile: a difference is reported only if repeated
// reads find it, and each correction is a conditional write. Check reads the items page
// by page.
//
// It does not find what has no effect: rank rows of a category without posts, and search
// rows of deleted customers. It finds an hour's counter without a trip only if its day is
// wrong too.
type Check struct {
	*reconcile.Run
	Step

	// PostCounts maps each counter of a feedback post's item to the range key
	// prefix of the items that it counts.
	PostCounts map[string]string
	// PostRanks returns the partitions of the rank rows of a category, or of all
	// posts for "".
	PostRanks func(category string) []string
}

const (
	confirmations = 3   // looks at the data that must find the same difference: an index may lag behind the table
	movedLooks    = 5   // looks during which counters changed, before a check holds them
	checkParallel = 8   // batches that a check reads at the same time
	batchKeys     = 100 // the largest number of items in one batch
)

// agree checks that counters equal the sums of what was counted of the items (Counted).
// At each look it calls prepare, which returns the counters and a function that adds up
// the items. The counters are read before and after the items. If their versions are the
// same, no step has counted an item in between, because one transaction writes what was
// counted and the counters. Items that the projection has not counted yet make no
// difference. If the counters changed during several looks and c.Correct is set, agree
// holds them (hold.go) while it looks.
func (c *Check) agree(ctx context.Context, t table.Tenant, name string,
	prepare func(context.Context) ([]counter.Ref, func(context.Context) (counter.Changes, error), error)) error {
	moved := 0
	look := c.Confirm(confirmations, func(n int) (*reconcile.Finding, error) {
		refs, sum, err := prepare(ctx)
		if err != nil {
			return nil, err
		}
		now, err := readCounters(ctx, t, refs)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			c.Count("counter", len(now))
		}
		want, err := sum(ctx)
		if err != nil {
			return nil, err
		}
		wrong := now.against(want)
		if len(wrong) == 0 {
			return nil, nil
		}
		again, f := counters{}, &reconcile.Finding{Off: fmt.Sprint(wrong), Recheck: true}
		f.Steady = func() (_ bool, err error) {
			again, err = readCounters(ctx, t, slices.AppendSeq(slices.Collect(maps.Keys(now)), maps.Keys(wrong)))
			if err != nil || again.same(now) {
				return true, err
			}
			moved++
			return false, nil
		}
		for ref, by := range wrong {
			for sum, off := range by {
				have := now[ref].sums[sum]
				f.Add("counter", ref.Partition+" "+ref.SK+" "+sum, have.Sub(off).String(), have.String())
			}
		}
		f.Correct = func() error { return c.correct(ctx, t, again, wrong) }
		return f, nil
	})
	return c.Until(ctx, name, func(n int) (done bool, err error) {
		if !c.Correct || moved < movedLooks {
			return look(n)
		}
		err = c.holding(ctx, t, func() (err error) {
			done, err = look(n)
			return err
		})
		return done, err
	})
}

// correct subtracts the excess off from each wrong counter. It changes shard 0 of the
// counter, on the condition that the shard is as in now. Therefore two checks cannot both
// make the correction.
func (c *Check) correct(ctx context.Context, t table.Tenant, now counters, off counter.Changes) error {
	for ref, by := range off {
		tx, shard := t.Write(), now[ref].items[0]
		add := counter.Changes{}
		add.AddAll(counter.Changes{ref: by}, -1)
		op := add.Write(tx, t, 0)
		if shard.Version > 0 {
			op.If("'version' = ?", shard.Version)
		} else {
			op.If("attribute_not_exists('version')")
		}
		if err := tx.Commit(ctx); err != nil && !table.Overtaken(err) {
			return err
		}
	}
	return nil
}

// sumCounted adds up what the projection counted of the items with the keys. Of the
// counters, it adds up only those in only.
func (c *Check) sumCounted(ctx context.Context, t table.Tenant, keys []table.Key, only map[counter.Ref]bool) (
	counter.Changes, error) {
	out, mu := counter.Changes{}, sync.Mutex{}
	group, ctx := panics.WithContext(ctx)
	group.SetLimit(checkParallel)
	for chunk := range slices.Chunk(keys, batchKeys) {
		group.Go(func() error {
			counted, err := countedOfAll(ctx, t.Handle, chunk)
			if err != nil {
				return err
			}
			for _, was := range counted {
				changes, err := was.counterAdditions()
				if err != nil {
					return err
				}
				maps.DeleteFunc(changes, func(ref counter.Ref, _ counter.Sums) bool { return !only[ref] })
				mu.Lock()
				out.AddAll(changes, 1)
				mu.Unlock()
			}
			return nil
		})
	}
	return out, group.Wait()
}

// countedOfAll returns what was counted of each of at most 100 items.
func countedOfAll(ctx context.Context, h table.Handle, keys []table.Key) ([]Counted, error) {
	items, err := countedItems(ctx, h, keys)
	out := make([]Counted, len(items))
	for i, it := range items {
		if out[i], err = countedOf(it); err != nil {
			break
		}
	}
	return out, err
}

// countedItems reads the COUNTED items, which record what was counted, of at most 100
// items.
func countedItems(ctx context.Context, h table.Handle, keys []table.Key) ([]table.Item, error) {
	counted := make([]table.Key, len(keys))
	for i, key := range keys {
		counted[i] = CountedKey(key)
	}
	return h.Batch(ctx, counted...)
}

// counters are counters with their values as the table stores them.
type counters map[counter.Ref]stored

// stored is a stored counter: the sums of all its shards, and the items of the shards.
type stored struct {
	sums  counter.Sums
	items []table.Item
}

// readCounters reads the stored counters, many in one batch.
func readCounters(ctx context.Context, t table.Tenant, refs []counter.Ref) (counters, error) {
	out, mu := counters{}, sync.Mutex{}
	for _, ref := range refs {
		out[ref] = stored{}
	}
	distinct := slices.Collect(maps.Keys(out))
	group, ctx := panics.WithContext(ctx)
	group.SetLimit(checkParallel)
	for chunk := range slices.Chunk(distinct, batchKeys/counter.MaxShards) {
		group.Go(func() error {
			var keys []table.Key
			for _, ref := range chunk {
				for n := range shardsOf(ref) {
					keys = append(keys, ref.Key(t, n))
				}
			}
			items, err := t.Batch(ctx, keys...)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			for _, ref := range chunk {
				one := stored{sums: counter.Sums{}, items: items[:shardsOf(ref)]}
				items = items[shardsOf(ref):]
				for _, it := range one.items {
					counter.Of(it, one.sums)
				}
				out[ref] = one
			}
			return nil
		})
	}
	return out, group.Wait()
}

// shardsOf returns in how many shards a counter is stored.
func shardsOf(ref counter.Ref) int {
	if ref.Sharded {
		return counter.MaxShards
	}
	return 1
}

// against returns by how much the counters exceed want; a value is negative where a
// counter is too low.
func (c counters) against(want counter.Changes) counter.Changes {
	out := counter.Changes{}
	for ref, one := range c {
		for name, n := range one.sums {
			out.Add(ref, name, n)
		}
	}
	out.AddAll(want, -1)
	return out
}

// same reports whether the counters are as they were in was. A counter that is not in was
// must not exist.
func (c counters) same(was counters) bool {
	for ref, now := range c {
		before := was[ref]
		for i, it := range now.items {
			version := int64(0)
			if i < len(before.items) {
				version = before.items[i].Version
			}
			if it.Version != version {
				return false
			}
		}
		off := counter.Changes{}
		off.AddAll(counter.Changes{ref: now.sums}, 1)
		off.AddAll(counter.Changes{ref: before.sums}, -1)
		if len(off) > 0 {
			return false
		}
	}
	return true
}

// behind checks the items that the projection had not counted in their current state.
// lagging has these items and the versions of their COUNTED items at that time. The
// projection may be about to count an item. If it does not do so within
// reconcile.Patience looks, behind reports the difference; with Correct, it counts the
// item.
func (c *Check) behind(ctx context.Context, t table.Tenant, lagging map[table.Key]int64) error {
	return c.Until(ctx, "outdated counts", func(look int) (done bool, err error) {
		for chunk := range slices.Chunk(slices.Collect(maps.Keys(lagging)), itemsPerRebuild) {
			pieces, err := c.pieces(ctx, t.Handle, chunk)
			if err != nil {
				return false, err
			}
			var stuck []table.Key
			for _, p := range pieces {
				if p.counted() || p.stored.Version != lagging[p.key] {
					delete(lagging, p.key)
				} else if look >= reconcile.Patience {
					stuck = append(stuck, p.key)
					if look == reconcile.Patience {
						c.Report("counted", p.key.PK, "what the item is now", "something else")
					}
				}
			}
			if c.Correct && len(stuck) > 0 {
				if err := c.catchUp(ctx, t, stuck, look > reconcile.Patience); err != nil {
					return false, err
				}
			}
		}
		return len(lagging) == 0 || look >= reconcile.Patience && !c.Correct, nil
	})
}

// catchUp counts the current state of items. With hold, it stops all other counting for
// the tenant meanwhile (hold.go). After a conflict it returns nil, and the caller looks
// again.
func (c *Check) catchUp(ctx context.Context, t table.Tenant, keys []table.Key, hold bool) error {
	count := func() error {
		_, err := c.Step.Tenant(ctx, t, keys)
		return err
	}
	err := error(nil)
	if hold {
		err = c.holding(ctx, t, count)
	} else {
		err = count()
	}
	if errors.Is(err, table.ErrConflict) {
		return nil
	}
	return err
}

// pieces reads the COUNTED items of the keys, and then the items themselves.
func (c *Check) pieces(ctx context.Context, h table.Handle, keys []table.Key) ([]piece, error) {
	counted, err := countedItems(ctx, h, keys)
	if err != nil {
		return nil, err
	}
	items, err := h.Batch(ctx, keys...)
	if err != nil {
		return nil, err
	}
	return c.compare(keys, items, counted)
}

// compare returns a piece for each item: what was counted of the item, and what must be
// counted of it now. items and counted belong to the keys with the same index.
func (c *Check) compare(keys []table.Key, items, counted []table.Item) (out []piece, err error) {
	out = make([]piece, len(keys))
	for i, key := range keys {
		p := piece{key: key, item: items[i], stored: counted[i]}
		if p.was, err = countedOf(counted[i]); err != nil {
			return nil, err
		}
		if p.next, err = c.count(items[i], p.was, timestamp.Format(c.Now())); err != nil {
			return nil, fmt.Errorf("%s %s: %w", key.PK, key.SK, err)
		}
		out[i] = p
	}
	return out, nil
}

// counted reports whether the projection has counted the current state of the item.
func (p piece) counted() bool { return same(p.was, p.next) && !p.was.Pending }
