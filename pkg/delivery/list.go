package delivery

import (
	"context"
	"fmt"
	"strconv"

	"svc/pkg/table"
	"svc/pkg/tenant"
)

// Businesses reads one page of all the tenant's businesses, also those that are
// not active, by name.
//
// Access pattern: by-g2 T#t#BUSINESSES#ALL#shard, shards merged.
func Businesses(ctx context.Context, t table.Tenant, after string, limit int) ([]Business, string, error) {
	return list(ctx, t, table.Query{Index: 2, After: after, Limit: limit}, BusinessOf, "BUSINESSES", "ALL")
}

// Orders reads one page of the tenant's orders, newest first, of one status
// unless that is "".
//
// Access pattern: by-g1 T#t#ORDERS#shard or by-g2 T#t#ORDERS#status#shard,
// shards merged.
func Orders(ctx context.Context, t table.Tenant, status, after string, limit int) ([]Order, string, error) {
	q := table.Query{Index: 1, Backward: true, After: after, Limit: limit}
	if status == "" {
		return list(ctx, t, q, OrderOf, "ORDERS")
	}
	q.Index = 2
	return list(ctx, t, q, OrderOf, "ORDERS", status)
}

func list[T any](ctx context.Context, t table.Tenant, q table.Query, of func(table.Item) (T, error), parts ...string) (out []T, next string, err error) {
	shards, err := tenant.ReadShards(ctx, t)
	if err != nil {
		return nil, "", err
	}
	partitions := make([]string, shards)
	for i := range partitions {
		partitions[i] = t.Partition(append(parts[:len(parts):len(parts)], strconv.Itoa(i))...)
	}
	page, err := t.Merge(ctx, partitions, q)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", parts[0], err)
	}
	for _, it := range page.Items {
		one, err := of(it)
		if err != nil {
			return nil, "", err
		}
		out = append(out, one)
	}
	if page.More {
		next = page.Last
	}
	return out, next, nil
}
