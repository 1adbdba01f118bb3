package projection

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/wallet"
)

// Tenant checks the counters, ratings, search rows and wallet names of a tenant.
//
// For each total, it reads the tenant's number of shards before and after it
// lists the items, because somebody may raise the number meanwhile. An incomplete
// sum would look like counters that are too high.
func (c *Check) Tenant(ctx context.Context, t table.Tenant) error {
	lagging, stars := map[table.Key]int64{}, ratings{}
	if err := c.reports(ctx, t, lagging, stars); err != nil {
		return fmt.Errorf("report counters: %w", err)
	}
	for _, total := range []struct {
		ref       counter.Ref
		partition func(shard int) string
	}{
		{counter.Drivers, func(n int) string { return t.Partition("DRIVERS", strconv.Itoa(n)) }},
		{counter.Customers, func(n int) string { return t.Partition("CUSTOMERS", strconv.Itoa(n)) }},
		{counter.DriverWallets, func(n int) string { return wallet.Partition(t, wallet.Driver, n) }},
		{counter.CustomerWallets, func(n int) string { return wallet.Partition(t, wallet.Customer, n) }},
	} {
		if err := c.total(ctx, t, total.ref, total.partition); err != nil {
			return err
		}
		err := c.each(ctx, t, total.partition, func(items []table.Item) error { return c.addLagging(ctx, t, items, lagging) })
		if err != nil {
			return fmt.Errorf("%s: %w", total.ref.Partition, err)
		}
	}
	if err := c.behind(ctx, t, lagging); err != nil {
		return err
	}
	if err := c.ratings(ctx, t, stars); err != nil {
		return fmt.Errorf("ratings: %w", err)
	}
	return c.people(ctx, t)
}

// total checks a counter that has no period, such as the number of drivers. Each look
// lists the items first, so that little time passes between the two reads of the counter.
func (c *Check) total(ctx context.Context, t table.Tenant, ref counter.Ref, partition func(shard int) string) error {
	return c.agree(ctx, t, ref.Partition, func(ctx context.Context) ([]counter.Ref,
		func(context.Context) (counter.Changes, error), error) {
		var keys []table.Key
		err := c.each(ctx, t, partition, func(items []table.Item) error {
			keys = append(keys, keysOf(items)...)
			return nil
		})
		return []counter.Ref{ref}, func(ctx context.Context) (counter.Changes, error) {
			return c.sumCounted(ctx, t, keys, map[counter.Ref]bool{ref: true})
		}, err
	})
}

// each calls do with the items of a list, page by page, in all shards.
func (c *Check) each(ctx context.Context, t table.Tenant, partition func(shard int) string,
	do func([]table.Item) error) error {
	return tenant.EachShard(ctx, t, func(n int) error {
		for items, err := range t.Pages(ctx, partition(n), table.Query{Index: 1, Limit: rebuildPage}) {
			if err == nil {
				err = do(items)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// addLagging adds to lagging the items of which the projection has not counted the
// current state.
func (c *Check) addLagging(ctx context.Context, t table.Tenant, items []table.Item, lagging map[table.Key]int64) error {
	for chunk := range slices.Chunk(items, batchKeys) {
		pieces, err := c.read(ctx, t, chunk)
		if err != nil {
			return err
		}
		for _, p := range pieces {
			if !p.counted() {
				lagging[p.key] = p.stored.Version
			}
		}
	}
	return nil
}

// read reads the COUNTED items of at most 100 items, and compares them with the items as
// an index shows them.
func (c *Check) read(ctx context.Context, t table.Tenant, items []table.Item) ([]piece, error) {
	keys := keysOf(items)
	counted, err := countedItems(ctx, t.Handle, keys)
	if err != nil {
		return nil, err
	}
	return c.compare(keys, items, counted)
}

// keysOf returns the keys of the items.
func keysOf(items []table.Item) []table.Key {
	keys := make([]table.Key, len(items))
	for i, it := range items {
		keys[i] = it.Key
	}
	return keys
}
