package counter

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/shopspring/decimal"

	"svc/pkg/money"
	"svc/pkg/table"
)

// MaxShards bounds the shards of a counter, whatever the tenant's number: one
// transaction counts several items, so three shards take what many shards of
// lists bring, and a report that reads every shard stays within 80 units.
const MaxShards = 3

// Shards is the number of shards that a counter has in a tenant with n shards.
func Shards(n int) int { return min(max(n, 1), MaxShards) }

// Ref names a counter of a tenant.
type Ref struct {
	Partition string // after the tenant: "TOTALS#CUSTOMERS", "REPORT#day"
	SK        string
	Sharded   bool
}

// Total names a sharded counter that has no period.
func Total(name string) Ref { return Ref{Partition: "TOTALS#" + name, SK: "TOTAL", Sharded: true} }

// The totals. Drivers has a sum per status; Customers "count"; wallets "count"
// and "balance".
var (
	Drivers         = Total("DRIVERS")
	Customers       = Total("CUSTOMERS")
	DriverWallets   = Total("WALLETS#driver")
	CustomerWallets = Total("WALLETS#customer")
)

// PartitionOf is the partition of a shard; shard 0 is the only one of a
// counter that is not sharded.
func (r Ref) PartitionOf(t table.Tenant, shard int) string {
	if !r.Sharded {
		return t.Partition(r.Partition)
	}
	return t.Partition(r.Partition, strconv.Itoa(shard))
}

func (r Ref) key(t table.Tenant, shard int) table.Key {
	return table.Key{PK: r.PartitionOf(t, shard), SK: r.SK}
}

// Sums are the sums of one counter by name.
type Sums map[string]decimal.Decimal

// Add adds to a sum.
func (s Sums) Add(name string, by decimal.Decimal) { s[name] = s[name].Add(by) }

// Int gives a sum that counts.
func (s Sums) Int(name string) int64 { return s[name].IntPart() }

// Changes are additions to counters, gathered before they are written.
type Changes map[Ref]Sums

// Add gathers an addition.
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

// AddAll gathers other changes, times factor.
func (c Changes) AddAll(other Changes, factor int64) {
	for r, sums := range other {
		for name, by := range sums {
			c.Add(r, name, by.Mul(decimal.NewFromInt(factor)))
		}
	}
}

// prefix tells a sum's attribute from the item's own.
const prefix = "n"

// Write puts the gathered additions into a transaction, one operation a
// counter, in the order of the keys; sharded counters take them in the shard.
func (c Changes) Write(tx *table.Tx, t table.Tenant, shard int) {
	for _, r := range slices.SortedFunc(maps.Keys(c), func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.SK, b.SK))
	}) {
		add := map[string]any{}
		for name, by := range c[r] {
			add[prefix+name] = money.Number(by)
		}
		tx.Update(r.key(t, shard), table.Change{Set: map[string]any{"type": "counter", "v": 1}, Add: add})
	}
}

// Items are the counters as they are once the additions were made to nothing:
// for filling an empty table.
func (c Changes) Items(t table.Tenant, shard int) []table.Item {
	var out []table.Item
	for r, sums := range c {
		it := table.Item{Key: r.key(t, shard), Type: "counter", Attrs: map[string]any{}}
		for name, by := range sums {
			it.Attrs[prefix+name] = money.Number(by)
		}
		out = append(out, it)
	}
	return out
}

// Of reads the sums of a counter's item into sums.
func Of(it table.Item, sums Sums) error {
	for name, n := range it.Counters(prefix) {
		d, err := parse(n)
		if err != nil {
			return fmt.Errorf("counter %s: %w", it.PK, err)
		}
		sums.Add(name, d)
	}
	return nil
}

func parse(n json.Number) (decimal.Decimal, error) {
	if d, err := decimal.NewFromString(string(n)); err == nil {
		return d, nil
	}
	return decimal.Zero, fmt.Errorf("%q is no number", n)
}

// Read reads counters of a tenant that has n shards for reading, in one
// request, eventually consistent. The sums come in the order of the refs.
func Read(ctx context.Context, t table.Tenant, n int, refs ...Ref) ([]Sums, error) {
	shards := Shards(n)
	keys := make([]table.Key, 0, len(refs)*shards)
	for _, r := range refs {
		for shard := range shards {
			keys = append(keys, r.key(t, shard))
		}
	}
	items, err := t.BatchEventual(ctx, keys...)
	if err != nil {
		return nil, fmt.Errorf("counters: %w", err)
	}
	out := make([]Sums, len(refs))
	for i := range out {
		out[i] = Sums{}
		for _, it := range items[i*shards : (i+1)*shards] {
			if err := Of(it, out[i]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
