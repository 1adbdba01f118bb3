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

// Store creates, reads and changes the records. Its methods are called and never held
// in a variable, which would link the store into every program.
var Store = account.Kind[Record]{Kind: &kind, Audience: authz.Driver, IDs: ids.Driver,
	Check: (*Record).normalize,
	Fields: func(r *Record) account.Fields {
		return account.Fields{ID: &r.ID, Email: &r.Email, CreatedAt: &r.CreatedAt, TotalTrips: &r.TotalTrips,
			Disabled: &r.Disabled, ErasedAt: &r.ErasedAt, Phone: &r.Phone, Members: &r.Members}
	}}

// Key returns the key of a driver's record.
func Key(t table.Tenant, id string) table.Key { return Store.Key(t, id) }

// Create adds a driver, as account.Kind.Create does. The status is OFFLINE if
// none is given. The time of a location is by.At if none is given.
func Create(ctx context.Context, t table.Tenant, by audit.By, n Record, hash string) (Record, error) {
	if n.Status == "" {
		n.Status = Offline
	}
	if n.CurrentLat != nil && n.LocationUpdatedAt == nil {
		n.LocationUpdatedAt = timestamp.Ptr(by.At)
	}
	return Store.Create(ctx, t, by, n, hash)
}

// Item returns the stored form of a new driver, with Version 1.
func Item(t table.Tenant, r Record, writeShards int) table.Item {
	return Store.NewItem(t, r, writeShards)
}

var kind = table.Kind[Record]{Type: "driver",
	Personal: "name, address, phone, vehicle, position, agreed terms, metadata", Erasure: "leaves `id` and `erasedAt`",
	Row: row, Read: FromItem}

func row(t table.Tenant, shard string, r Record) table.Item {
	it := table.Item{Key: authz.ActorKey(t, authz.Driver, r.ID), Version: 1, R: r.ID,
		G: [4]string{t.Partition("DRIVERS", shard), t.Partition("DRIVERS", r.Status, shard)},
		Attrs: map[string]any{"status": r.Status, "disabled": r.Disabled, "totalTrips": r.TotalTrips, "trip": nil,
			"ratingSum": nil, "ratingCount": nil}}
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
	return Store.Blank(t, read, Record{Disabled: true, CreatedAt: was.CreatedAt, Driver: Driver{ID: was.ID,
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
