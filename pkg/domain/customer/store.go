package customer

import (
	"context"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/account"
	"svc/pkg/domain/tenant"
)

var accounts = account.Kind[Record]{Audience: authz.Rider, Name: "customer", IDs: ids.Customer,
	FromItem: FromItem, Item: item, Check: (*Record).normalize,
	Fields: func(r *Record) account.Fields {
		return account.Fields{ID: &r.ID, Email: &r.Email, CreatedAt: &r.CreatedAt, TotalTrips: &r.TotalTrips,
			Disabled: &r.Disabled}
	}}

// Key returns the key of a customer's record.
func Key(t table.Tenant, id string) table.Key { return accounts.Key(t, id) }

// Functions of a customer's account, as account.Kind explains them.
var (
	Create = accounts.Create
	ByID   = accounts.ByID
	Find   = accounts.Find
	Change = accounts.Change
	Item   = accounts.NewItem
)

func item(t table.Tenant, r Record, shard string) table.Item {
	return table.Item{Key: authz.ActorKey(t, authz.Rider, r.ID), Type: "customer", Version: 1, R: r.CreatedAt + "#" + r.ID,
		G:     [4]string{t.Partition("CUSTOMERS", shard)},
		Attrs: map[string]any{"disabled": r.Disabled, "totalTrips": r.TotalTrips}, Doc: r}
}

// List reads one page of the tenant's customers, newest first.
//
// Access pattern: by-g1 T#t#CUSTOMERS#shard, shards merged.
func List(ctx context.Context, t table.Tenant, after string, limit int) ([]Record, string, error) {
	q := table.Query{Index: 1, Backward: true, After: after, Limit: limit}
	return tenant.Page(ctx, t, q, FromItem, "CUSTOMERS")
}
