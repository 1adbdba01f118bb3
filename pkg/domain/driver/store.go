package driver

import (
	"context"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/account"
	"svc/pkg/domain/tenant"
)

var accounts = account.Kind[Record]{Audience: authz.Driver, Name: "driver", IDs: ids.Driver,
	FromItem: FromItem, Item: item, Check: (*Record).normalize,
	Fields: func(r *Record) account.Fields {
		return account.Fields{ID: &r.ID, Email: &r.Email, CreatedAt: &r.CreatedAt, TotalTrips: &r.TotalTrips,
			Disabled: &r.Disabled, ErasedAt: &r.ErasedAt}
	}}

// Key returns the key of a driver's record.
func Key(t table.Tenant, id string) table.Key { return accounts.Key(t, id) }

// Create adds a driver, as account.Kind.Create does. The status is OFFLINE if
// none is given. The time of a location is by.At if none is given.
func Create(ctx context.Context, t table.Tenant, by audit.By, n Record, hash string) (Record, error) {
	if n.Status == "" {
		n.Status = Offline
	}
	if n.CurrentLat != nil && n.LocationUpdatedAt == nil {
		n.LocationUpdatedAt = timestamp.Ptr(by.At)
	}
	return accounts.Create(ctx, t, by, n, hash)
}

// The functions below call the methods. A variable that holds a method would link
// the store and its database client into every program that imports this package.

// ByID reads a driver, as account.Kind.ByID does.
func ByID(ctx context.Context, t table.Tenant, id string) (Record, error) {
	return accounts.ByID(ctx, t, id)
}

// Find reads the driver with a mail address or id, as account.Kind.Find does.
func Find(ctx context.Context, t table.Tenant, name string) (Record, error) {
	return accounts.Find(ctx, t, name)
}

// Change edits a driver's record, as account.Kind.Change does.
func Change(ctx context.Context, t table.Tenant, by audit.By, id string, edit func(*Record) error) (Record, error) {
	return accounts.Change(ctx, t, by, id, edit)
}

// Changing is the change that Change makes. id must be valid.
func Changing(t table.Tenant, by audit.By, id string, edit func(*Record) error) audit.Change[Record] {
	return accounts.Changing(t, by, id, edit)
}

// Prepare prepares a new driver for Add, as account.Kind.Prepare does.
func Prepare(r *Record, by audit.By) error { return accounts.Prepare(r, by) }

// Add adds a prepared driver without a password to the transaction.
func Add(tx *table.Tx, t table.Tenant, by audit.By, r Record, writeShards int) {
	accounts.Add(tx, t, by, r, "", writeShards)
}

// Item returns the stored form of a new driver, with Version 1.
func Item(t table.Tenant, r Record, writeShards int) table.Item {
	return accounts.NewItem(t, r, writeShards)
}

var _ = table.Kind{Type: "driver", Personal: "name, address, phone, vehicle, position, agreed terms",
	Erasure: "leaves `id` and `erasedAt`"}

func item(t table.Tenant, r Record, shard string) table.Item {
	it := table.Item{Key: authz.ActorKey(t, authz.Driver, r.ID), Type: "driver", Version: 1, R: r.ID,
		G: [4]string{t.Partition("DRIVERS", shard), t.Partition("DRIVERS", r.Status, shard)},
		Attrs: map[string]any{"status": r.Status, "disabled": r.Disabled, "totalTrips": r.TotalTrips, "trip": nil,
			"ratingSum": nil, "ratingCount": nil}, Doc: r}
	if r.RatingCount > 0 {
		it.Attrs["ratingSum"], it.Attrs["ratingCount"] = r.RatingSum, r.RatingCount
	}
	if r.Trip != "" {
		it.Attrs["trip"] = r.Trip
	}
	return it
}

// Erased returns the item of a driver without anything that tells of the person.
func Erased(t table.Tenant, read table.Item, at string) (table.Item, error) {
	was, err := FromItem(read)
	return accounts.Rewritten(t, read, Record{Disabled: true, CreatedAt: was.CreatedAt, Driver: Driver{ID: was.ID,
		Status: Offline, TotalTrips: was.TotalTrips, ErasedAt: &at}}), err
}

// List reads one page of the tenant's drivers, newest first. If status is not
// "", it reads only drivers with that status.
//
// Access pattern: by-g1 T#t#DRIVERS#shard or by-g2 T#t#DRIVERS#status#shard,
// shards merged.
func List(ctx context.Context, t table.Tenant, status, after string, limit int) ([]Record, string, error) {
	q := table.Query{Index: 1, Backward: true, After: after, Limit: limit}
	if status == "" {
		return tenant.Page(ctx, t, q, FromItem, "DRIVERS")
	}
	q.Index = 2
	return tenant.Page(ctx, t, q, FromItem, "DRIVERS", status)
}
