// Package counter owns the tenant's counters: items whose attributes are sums,
// changed by additions alone. A counter that many changes meet on is spread
// over shards; its value is the sum of them, whichever shard a change went to.
// pkg/projection writes them, and knows what is counted; reports and totals
// read them.
package counter
