package counter

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/shopspring/decimal"

	"svc/pkg/base/money"
	"svc/pkg/data/table"
)

// MaxShards is the maximum number of shards of a counter, even if the tenant has
// more shards. Three are enough for the writes, because one transaction counts
// several items. With three, a report that reads every shard stays within 80 read
// units.
const MaxShards = 3

// Shards returns the number of shards per counter in a tenant with n shards.
func Shards(n int) int { return min(max(n, 1), MaxShards) }

// Ref names a counter of a tenant.
type Ref struct {
	Partition string // after T#<tenant>#, without the shard: "TOTALS#CUSTOMERS", "REPORT#day"
	SK        string // range key: "TOTAL", or the period that is counted
	Sharded   bool   // the counter has several items, and its value is their sum
}

// Total names a sharded counter that has no period.
func Total(name string) Ref { return Ref{Partition: "TOTALS#" + name, SK: "TOTAL", Sharded: true} }

// The totals. Drivers has one sum for each status. Customers has the sum
// "count". The wallet totals have the sums "count" and "balance".
var (
	Drivers         = Total("DRIVERS")
	Customers       = Total("CUSTOMERS")
	DriverWallets   = Total("WALLETS#driver")
	CustomerWallets = Total("WALLETS#customer")
)

// PartitionOf returns the partition of a shard of the counter. A counter that is not
// sharded has shard 0 only.
func (r Ref) PartitionOf(t table.Tenant, shard int) string {
	if !r.Sharded {
		return t.Partition(r.Partition)
	}
	return t.Partition(r.Partition, strconv.Itoa(shard))
}

// Key returns the key of a shard of the counter.
func (r Ref) Key(t table.Tenant, shard int) table.Key {
	return table.Key{PK: r.PartitionOf(t, shard), SK: r.SK}
}

// Sums are the sums of one counter by name.
type Sums map[string]decimal.Decimal

// Add adds by to the sum with the name.
func (s Sums) Add(name string, by decimal.Decimal) { s[name] = s[name].Add(by) }

// Int returns the sum with the name as an integer, without its decimals.
func (s Sums) Int(name string) int64 { return s[name].IntPart() }

// Changes are pending additions to counters.
type Changes map[Ref]Sums

// Add records that by is to be added to the counter's sum with the name. It drops a
// pending addition that becomes 0.
func (c Changes) Add(r Ref, name string, by decimal.Decimal) {
	if c[r] == nil {
		c[r] = Sums{}
	}
	c[r].Add(name, by)
	if c[r][name].IsZero() {
		if delete(c[r], name); len(c[r]) == 0 {
			delete(c, r)
		}
	}
}

// AddAll adds other changes, multiplied by factor.
func (c Changes) AddAll(other Changes, factor int64) {
	for r, sums := range other {
		for name, by := range sums {
			c.Add(r, name, by.Mul(decimal.NewFromInt(factor)))
		}
	}
}

// prefix begins the names of the attributes that hold sums.
const prefix = "n"

// Write puts the additions into a transaction: one operation per counter, in
// key order. Sharded counters use the given shard. Each write increments the
// counter's version, so that a later read can detect a change. Write returns
// the last operation, or nil if there are no additions.
func (c Changes) Write(tx *table.Tx, t table.Tenant, shard int) (last *table.Op) {
	for _, r := range slices.SortedFunc(maps.Keys(c), func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.SK, b.SK))
	}) {
		add := map[string]any{"version": 1}
		for name, by := range c[r] {
			add[prefix+name] = money.Of(by)
		}
		last = tx.Update(r.Key(t, shard), table.Change{Default: map[string]any{"type": "counter", "v": 1}, Add: add})
	}
	return last
}

// Of adds the sums that the item of a counter holds to sums.
func Of(it table.Item, sums Sums) {
	for name, n := range it.Counters(prefix) {
		sums.Add(name, n.Decimal())
	}
}

// Read reads counters of a tenant with one eventually consistent batch get. n is
// the tenant's readShards. A sharded counter takes Shards(n) keys, and Read fails
// for more than 100 keys.
func Read(ctx context.Context, t table.Tenant, n int, refs ...Ref) (map[Ref]Sums, error) {
	shards := Shards(n)
	of := make(map[table.Key]Ref, len(refs)*shards)
	keys := make([]table.Key, 0, len(refs)*shards)
	out := make(map[Ref]Sums, len(refs))
	for _, r := range refs {
		out[r] = Sums{}
		for shard := range shards {
			key := r.Key(t, shard)
			keys, of[key] = append(keys, key), r
		}
	}
	items, err := t.BatchEventual(ctx, keys...)
	if err != nil {
		return nil, fmt.Errorf("counters: %w", err)
	}
	for _, it := range items {
		Of(it, out[of[it.Key]])
	}
	return out, nil
}
