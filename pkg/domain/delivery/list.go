package delivery

import (
	"context"
	"time"

	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// Businesses reads one page of all the tenant's businesses, ordered by name, including
// those that are not active. It returns the position to continue after, "" at the end.
//
// Access pattern: by-g2 T#t#BUSINESSES#ALL#shard, shards merged.
func Businesses(ctx context.Context, t table.Tenant, after string, limit int) ([]Business, string, error) {
	q := table.Query{Index: 2, After: after, Limit: limit}
	return tenant.Page(ctx, t, q, BusinessKind.FromItem, "BUSINESSES", "ALL")
}

// Orders reads one page of the tenant's orders, newest first. If status is not
// "", it reads only orders with that status. It returns the position to continue after,
// "" at the end.
//
// Access pattern: by-g1 T#t#ORDERS#shard or by-g2 T#t#ORDERS#status#shard,
// shards merged.
func Orders(ctx context.Context, t table.Tenant, status, after string, limit int) ([]Order, string, error) {
	q := table.Query{Index: 1, Backward: true, After: after, Limit: limit}
	if status == "" {
		return tenant.Page(ctx, t, q, OrderKind.FromItem, "ORDERS")
	}
	q.Index = 2
	return tenant.Page(ctx, t, q, OrderKind.FromItem, "ORDERS", status)
}

// Older reads one page of the orders placed before a time, oldest first. after is the
// position at which the previous page ended, "" for the first page.
//
// Access pattern: by-g1 T#t#ORDERS#shard, shards merged.
func Older(ctx context.Context, t table.Tenant, before time.Time, after string, limit int) (table.Page, error) {
	shards, err := tenant.ReadShards(ctx, t)
	if err != nil {
		return table.Page{}, err
	}
	return t.Merge(ctx, api.Sharded(t, shards, "ORDERS"), table.Query{Index: 1, After: after,
		To: timestamp.Format(before), Limit: limit})
}
