package projection

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/pkg/base/timestamp"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/domain/report"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// Tenant checks the counters, search rows and wallet names of a tenant.
//
// For each sum, it reads the tenant's number of shards before and after it adds
// up the shards, because somebody may raise the number meanwhile. An incomplete
// sum would look like counters that are too high.
func (c *Check) Tenant(ctx context.Context, t table.Tenant) error {
	for _, total := range []struct {
		ref       counter.Ref
		partition func(shard int) string
	}{
		{counter.Drivers, func(n int) string { return t.Partition("DRIVERS", strconv.Itoa(n)) }},
		{counter.Customers, func(n int) string { return t.Partition("CUSTOMERS", strconv.Itoa(n)) }},
		{counter.DriverWallets, func(n int) string { return wallet.Partition(t, wallet.Driver, n) }},
		{counter.CustomerWallets, func(n int) string { return wallet.Partition(t, wallet.Customer, n) }},
	} {
		all := func(counter.Ref) bool { return true }
		err := c.agree(ctx, t, unit{
			list: func(context.Context) ([]counter.Ref, error) { return []counter.Ref{total.ref}, nil },
			sum: func(ctx context.Context, sum *tally) error {
				return tenant.EachShard(ctx, t, func(n int) error {
					return c.walk(ctx, t.Handle, total.partition(n), func(keys []table.Key) error {
						return c.add(ctx, t, keys, all, sum)
					})
				})
			},
		})
		if err != nil {
			return fmt.Errorf("%s: %w", total.ref.Partition, err)
		}
	}
	if err := c.reports(ctx, t); err != nil {
		return fmt.Errorf("report counters: %w", err)
	}
	return c.people(ctx, t)
}

// reports checks the trip counters, day by day.
func (c *Check) reports(ctx context.Context, t table.Tenant) error {
	days, err := c.stored(ctx, t, report.Days, true)
	if err != nil {
		return err
	}
	err = c.trips(ctx, t, "", "", func(at time.Time) { days[report.Periods(at)[0]] = true })
	if err != nil {
		return err
	}
	for day := range days {
		if err := c.period(ctx, t, day); err != nil {
			return err
		}
	}
	return nil
}

// period checks the counters of a day or a quarter of an hour: first its
// subperiods, then the period against their sum. It checks a period of ten
// seconds against its trips.
func (c *Check) period(ctx context.Context, t table.Tenant, ref counter.Ref) error {
	from, to, err := report.Span(ref)
	if err != nil {
		return err
	}
	if report.Level(ref) == report.Leaf {
		return c.leaf(ctx, t, ref, from, to)
	}
	partition, sharded := report.Children(from, report.Level(ref))
	parts, err := c.stored(ctx, t, partition, sharded)
	if err != nil {
		return err
	}
	err = c.trips(ctx, t, timestamp.Format(from), timestamp.Format(to), func(at time.Time) {
		parts[report.Periods(at)[report.Level(ref)+1]] = true
	})
	if err != nil {
		return err
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(checkParallel)
	for part := range parts {
		group.Go(func() error { return c.period(inner, t, part) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return c.agree(ctx, t, unit{
		list: func(context.Context) ([]counter.Ref, error) { return []counter.Ref{ref}, nil },
		sum: func(ctx context.Context, sum *tally) error {
			parts, err := c.stored(ctx, t, partition, sharded)
			if err != nil {
				return err
			}
			found, err := readCounters(ctx, t, slices.Collect(maps.Keys(parts)))
			for _, one := range found {
				sum.counted.AddAll(counter.Changes{ref: one.sums}, 1)
			}
			return err
		},
	})
}

// leaf checks the counters of ten seconds, and the finer counters within them,
// against the trips requested in the ten seconds.
func (c *Check) leaf(ctx context.Context, t table.Tenant, ref counter.Ref, from, to time.Time) error {
	within := func(r counter.Ref) bool { return report.Level(r) >= report.Leaf }
	return c.agree(ctx, t, unit{
		list: func(ctx context.Context) ([]counter.Ref, error) {
			out := map[counter.Ref]bool{ref: true}
			partition, sharded := report.Children(from, report.Leaf)
			tenths, err := c.stored(ctx, t, partition, sharded)
			if err != nil {
				return nil, err
			}
			maps.Copy(out, tenths)
			for tenth := range tenths {
				start, _, err := report.Span(tenth)
				if err != nil {
					return nil, err
				}
				partition, sharded := report.Children(start, report.Leaf+1)
				milliseconds, err := c.stored(ctx, t, partition, sharded)
				if err != nil {
					return nil, err
				}
				maps.Copy(out, milliseconds)
			}
			return slices.Collect(maps.Keys(out)), nil
		},
		sum: func(ctx context.Context, sum *tally) error {
			return c.keys(ctx, t, timestamp.Format(from), timestamp.Format(to), func(keys []table.Key) error {
				return c.add(ctx, t, keys, within, sum)
			})
		},
	})
}

// stored returns the counters of a partition, in all its shards.
func (c *Check) stored(ctx context.Context, t table.Tenant, partition string, sharded bool) (map[counter.Ref]bool,
	error) {
	out := map[counter.Ref]bool{}
	some := counter.Ref{Partition: partition, Sharded: sharded}
	for n := range shardsOf(some) {
		q := table.Query{Limit: rebuildPage, Consistent: true}
		for items, err := range t.Pages(ctx, some.PartitionOf(t, n), q) {
			if err != nil {
				return nil, err
			}
			for _, it := range items {
				out[counter.Ref{Partition: partition, SK: it.SK, Sharded: sharded}] = true
			}
		}
	}
	return out, nil
}

// keys iterates over the trips requested between two times, a few at a time.
func (c *Check) keys(ctx context.Context, t table.Tenant, from, to string,
	do func([]table.Key) error) error {
	return c.scan(ctx, t, from, to, func(items []table.Item) error { return inChunks(items, do) })
}

func (c *Check) trips(ctx context.Context, t table.Tenant, from, to string,
	do func(requested time.Time)) error {
	return c.scan(ctx, t, from, to, func(items []table.Item) error {
		for _, it := range items {
			tr, err := trip.FromItem(it)
			if err != nil {
				return err
			}
			at, err := timestamp.Parse(tr.RequestedAt)
			if err != nil {
				return err
			}
			do(at)
		}
		return nil
	})
}

func (c *Check) scan(ctx context.Context, t table.Tenant, from, to string,
	do func([]table.Item) error) error {
	return tenant.EachShard(ctx, t, func(n int) error {
		q := table.Query{Index: 1, From: from, To: to, Limit: rebuildPage}
		for items, err := range t.Pages(ctx, t.Partition("TRIPS", strconv.Itoa(n)), q) {
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
