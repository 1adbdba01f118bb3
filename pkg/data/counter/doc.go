// Package counter owns the tenant's counters: items whose attributes are sums.
// Counters change only by additions. A busy counter is split into shards; its
// value is the sum of all shards. pkg/background/projection writes the
// counters and decides what is counted. Reports and totals read them.
package counter
