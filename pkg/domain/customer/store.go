package customer

import (
	"context"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/account"
	"svc/pkg/domain/tenant"
)

// Store creates, reads and changes the records. Its methods are called and never held
// in a variable, which would link the store into every program.
var Store = account.Kind[Record]{Kind: &kind, Audience: authz.Rider, IDs: ids.Customer,
	Check: (*Record).normalize,
	Fields: func(r *Record) account.Fields {
		return account.Fields{ID: &r.ID, Email: &r.Email, CreatedAt: &r.CreatedAt, TotalTrips: &r.TotalTrips,
			Disabled: &r.Disabled, ErasedAt: &r.ErasedAt, Phone: &r.Phone, Members: &r.Members}
	}}

// Key returns the key of a customer's record.
func Key(t table.Tenant, id string) table.Key { return Store.Key(t, id) }

// Item returns the stored form of a new customer, with Version 1.
func Item(t table.Tenant, r Record, writeShards int) table.Item {
	return Store.NewItem(t, r, writeShards)
}

var kind = table.Kind[Record]{Type: "customer",
	Personal: "name, address, phone, vehicle, position, agreed terms, metadata", Erasure: "leaves `id` and `erasedAt`",
	Row: row, Read: FromItem}

func row(t table.Tenant, shard string, r Record) table.Item {
	it := table.Item{Key: authz.ActorKey(t, authz.Rider, r.ID), Version: 1, R: r.CreatedAt + "#" + r.ID,
		G: [4]string{t.Partition("CUSTOMERS", shard)}, Attrs: map[string]any{"disabled": r.Disabled,
			"totalTrips": r.TotalTrips, "ratingSum": nil, "ratingCount": nil}}
	if r.RatingCount > 0 {
		it.Attrs["ratingSum"], it.Attrs["ratingCount"] = r.RatingSum, r.RatingCount
	}
	return it
}

// Erased returns the item of a customer without anything that tells of the person.
func Erased(t table.Tenant, read table.Item, at string) (table.Item, error) {
	was, err := FromItem(read)
	return Store.Blank(t, read, Record{Disabled: true, Customer: Customer{ID: was.ID, TotalTrips: was.TotalTrips,
		CreatedAt: was.CreatedAt, ErasedAt: &at}}), err
}

// List reads one page of the tenant's customers, newest first.
//
// Access pattern: by-g1 T#t#CUSTOMERS#shard, shards merged.
func List(ctx context.Context, t table.Tenant, after string, limit int) ([]Record, string, error) {
	q := table.Query{Index: 1, Backward: true, After: after, Limit: limit}
	return tenant.Page(ctx, t, q, FromItem, "CUSTOMERS")
}
