package customer

import (
	"context"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/account"
	"svc/pkg/domain/tenant"
)

var accounts = account.Kind[Record]{Audience: authz.Rider, Name: "customer", IDs: ids.Customer,
	FromItem: FromItem, Item: item, Check: (*Record).normalize,
	Fields: func(r *Record) account.Fields {
		return account.Fields{ID: &r.ID, Email: &r.Email, CreatedAt: &r.CreatedAt, TotalTrips: &r.TotalTrips,
			Disabled: &r.Disabled, ErasedAt: &r.ErasedAt}
	}}

// Key returns the key of a customer's record.
func Key(t table.Tenant, id string) table.Key { return accounts.Key(t, id) }

// The functions below call the methods. A variable that holds a method would link
// the store and its database client into every program that imports this package.

// Create adds a customer, as account.Kind.Create does.
func Create(ctx context.Context, t table.Tenant, by audit.By, n Record, hash string) (Record, error) {
	return accounts.Create(ctx, t, by, n, hash)
}

// ByID reads a customer, as account.Kind.ByID does.
func ByID(ctx context.Context, t table.Tenant, id string) (Record, error) {
	return accounts.ByID(ctx, t, id)
}

// Find reads the customer with a mail address or id, as account.Kind.Find does.
func Find(ctx context.Context, t table.Tenant, name string) (Record, error) {
	return accounts.Find(ctx, t, name)
}

// Change edits a customer's record, as account.Kind.Change does.
func Change(ctx context.Context, t table.Tenant, by audit.By, id string, edit func(*Record) error) (Record, error) {
	return accounts.Change(ctx, t, by, id, edit)
}

// Changing is the change that Change makes. id must be valid.
func Changing(t table.Tenant, by audit.By, id string, edit func(*Record) error) audit.Change[Record] {
	return accounts.Changing(t, by, id, edit)
}

// Prepare prepares a new customer for Add, as account.Kind.Prepare does.
func Prepare(r *Record, by audit.By) error { return accounts.Prepare(r, by) }

// Add adds a prepared customer without a password to the transaction.
func Add(tx *table.Tx, t table.Tenant, by audit.By, r Record, writeShards int) {
	accounts.Add(tx, t, by, r, "", writeShards)
}

// SignUp adds a prepared customer with the hash of a password to the transaction. If
// another customer has the mail address, the transaction fails with login.ErrTaken.
func SignUp(tx *table.Tx, t table.Tenant, by audit.By, r Record, hash string, writeShards int) {
	accounts.Add(tx, t, by, r, hash, writeShards)
}

// Item returns the stored form of a new customer, with Version 1.
func Item(t table.Tenant, r Record, writeShards int) table.Item {
	return accounts.NewItem(t, r, writeShards)
}

var _ = table.Kind{Type: "customer", Personal: "name, address, phone, vehicle, position, agreed terms",
	Erasure: "leaves `id` and `erasedAt`"}

func item(t table.Tenant, r Record, shard string) table.Item {
	it := table.Item{Key: authz.ActorKey(t, authz.Rider, r.ID), Type: "customer", Version: 1, R: r.CreatedAt + "#" + r.ID,
		G: [4]string{t.Partition("CUSTOMERS", shard)}, Attrs: map[string]any{"disabled": r.Disabled,
			"totalTrips": r.TotalTrips, "ratingSum": nil, "ratingCount": nil}, Doc: r}
	if r.RatingCount > 0 {
		it.Attrs["ratingSum"], it.Attrs["ratingCount"] = r.RatingSum, r.RatingCount
	}
	return it
}

// Erased returns the item of a customer without anything that tells of the person.
func Erased(t table.Tenant, read table.Item, at string) (table.Item, error) {
	was, err := FromItem(read)
	return accounts.Rewritten(t, read, Record{Disabled: true, Customer: Customer{ID: was.ID, TotalTrips: was.TotalTrips,
		CreatedAt: was.CreatedAt, ErasedAt: &at}}), err
}

// List reads one page of the tenant's customers, newest first.
//
// Access pattern: by-g1 T#t#CUSTOMERS#shard, shards merged.
func List(ctx context.Context, t table.Tenant, after string, limit int) ([]Record, string, error) {
	q := table.Query{Index: 1, Backward: true, After: after, Limit: limit}
	return tenant.Page(ctx, t, q, FromItem, "CUSTOMERS")
}
