package delivery

import (
	"context"

	"svc/pkg/table"
	"svc/pkg/tenant"
)

// Businesses reads one page of all the tenant's businesses, also those that are
// not active, by name.
//
// Access pattern: by-g2 T#t#BUSINESSES#ALL#shard, shards merged.
func Businesses(ctx context.Context, t table.Tenant, after string, limit int) ([]Business, string, error) {
	return tenant.Page(ctx, t, table.Query{Index: 2, After: after, Limit: limit}, BusinessOf, "BUSINESSES", "ALL")
}

// Orders reads one page of the tenant's orders, newest first, of one status
// unless that is "".
//
// Access pattern: by-g1 T#t#ORDERS#shard or by-g2 T#t#ORDERS#status#shard,
// shards merged.
func Orders(ctx context.Context, t table.Tenant, status, after string, limit int) ([]Order, string, error) {
	q := table.Query{Index: 1, Backward: true, After: after, Limit: limit}
	if status == "" {
		return tenant.Page(ctx, t, q, OrderOf, "ORDERS")
	}
	q.Index = 2
	return tenant.Page(ctx, t, q, OrderOf, "ORDERS", status)
}
