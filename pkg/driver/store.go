package driver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"svc/pkg/audit"
	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/login"
	"svc/pkg/table"
	"svc/pkg/tenant"
	"svc/pkg/timestamp"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Key is the key of a driver's record.
func Key(t table.Tenant, id string) table.Key { return authz.ActorKey(t, authz.Driver, id) }

// Create adds a driver with a sign-in row; ID (unless given), CreatedAt and,
// where absent, the status OFFLINE are made. Hash is the password's, "" for
// none yet. login.ErrTaken when another driver of the tenant has the address.
func Create(ctx context.Context, t table.Tenant, by audit.By, n Record, hash string) (Record, error) {
	if n.ID == "" {
		n.ID = ids.New(ids.Driver, by.At)
	}
	if n.Status == "" {
		n.Status = Offline
	}
	if n.CreatedAt == "" {
		n.CreatedAt = timestamp.Format(by.At)
	}
	if n.CurrentLat != nil && n.LocationUpdatedAt == nil {
		n.LocationUpdatedAt = timestamp.Ptr(by.At)
	}
	if err := n.normal(); err != nil {
		return Record{}, err
	}
	shards, err := tenant.WriteShards(ctx, t)
	if err != nil {
		return Record{}, err
	}
	account := login.Account{Audience: authz.Driver, Address: n.Email, Actor: n.ID, Hash: hash}
	if err := account.Add(ctx, t, by, Item(t, n, shards), "driver.add", n); err != nil {
		return Record{}, fmt.Errorf("create driver: %w", err)
	}
	return n, nil
}

// ByID reads a driver; fault.NotFound when there is none in this tenant.
func ByID(ctx context.Context, t table.Tenant, id string) (Record, error) {
	if !ids.Valid(ids.Driver, id) {
		return Record{}, fault.NotFound()
	}
	it, err := t.Get(ctx, Key(t, id))
	if err != nil {
		return Record{}, fmt.Errorf("driver: %w", err)
	}
	return Of(it)
}

// ByEmail reads the driver of a mail address; fault.NotFound when there is none.
func ByEmail(ctx context.Context, t table.Tenant, address string) (Record, error) {
	l, err := login.Find(ctx, t, authz.Driver, address)
	if err != nil {
		return Record{}, err
	}
	return ByID(ctx, t, l.Actor)
}

// Change runs change on the driver's record and writes what came of it with an
// audit entry; it may run change more than once. Another mail address moves
// the sign-in row, login.ErrTaken when it is taken. Disabled ends the driver's
// sign-in and tokens at once.
func Change(ctx context.Context, t table.Tenant, by audit.By, id string, change func(*Record) error) (Record, error) {
	if !ids.Valid(ids.Driver, id) {
		return Record{}, fault.NotFound()
	}
	var now Record
	seized := false
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := t.Get(ctx, Key(t, id))
		if err != nil {
			return err
		}
		was, err := Of(it)
		if err != nil {
			return err
		}
		was.Disabled = was.Disabled && !seized
		now = was
		if err := change(&now); err != nil {
			return err
		}
		now.ID, now.CreatedAt, now.TotalTrips = was.ID, was.CreatedAt, was.TotalTrips
		if err := now.normal(); err != nil {
			return err
		}
		tx := t.Write()
		next := Rewritten(t, it, now)
		tx.Replace(next).Else(table.ErrConflict)
		if err := login.Follow(ctx, tx, t, authz.Driver, id, login.State{Address: was.Email, Disabled: was.Disabled}, login.State{Address: now.Email, Disabled: now.Disabled}); err != nil {
			return err
		}
		audit.Append(tx, t, by, "driver.edit", id, was, now)
		err = tx.Commit(ctx)
		if errors.Is(err, table.ErrConflict) && now.Disabled && !was.Disabled && !seized {
			var failed error
			seized, failed = seize(ctx, t, id)
			err = errors.Join(err, failed)
		}
		return err
	})
	if err != nil {
		return Record{}, fmt.Errorf("change driver: %w", err)
	}
	return now, nil
}

// seize ends the driver's requests whatever the record's version: a driver who
// changes status without a pause would win against each attempt to disable her.
func seize(ctx context.Context, t table.Tenant, id string) (done bool, err error) {
	tx := t.Write()
	tx.Update(Key(t, id), table.Change{Set: map[string]any{"disabled": true}, Add: map[string]any{"version": 1}}).If("attribute_exists(pk)")
	if err = tx.Commit(ctx); errors.Is(err, table.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// Item is the stored form of a new driver, with Version 1.
func Item(t table.Tenant, r Record, writeShards int) table.Item {
	n := strconv.Itoa(ids.Pick(r.ID, writeShards))
	return item(t, r, n)
}

// Rewritten is the stored form of a changed driver: of the version that was
// read, in the shard that it has, and with the tokens that it has.
func Rewritten(t table.Tenant, was table.Item, r Record) table.Item {
	it := item(t, r, was.G[0][strings.LastIndexByte(was.G[0], '#')+1:])
	it.Version = was.Version
	if since := was.Text("since"); since != "" {
		it.Attrs["since"] = since
	}
	return it
}

func item(t table.Tenant, r Record, shard string) table.Item {
	return table.Item{Key: Key(t, r.ID), Type: "driver", Version: 1, R: r.ID,
		G:     [4]string{t.Partition("DRIVERS", shard), t.Partition("DRIVERS", r.Status, shard)},
		Attrs: map[string]any{"status": r.Status, "disabled": r.Disabled, "totalTrips": r.TotalTrips}, Doc: r}
}

// List reads one page of the tenant's drivers, newest first, of one status
// unless that is "".
//
// Access pattern: by-g1 T#t#DRIVERS#shard or by-g2 T#t#DRIVERS#status#shard,
// shards merged.
func List(ctx context.Context, t table.Tenant, status, after string, limit int) ([]Record, string, error) {
	q := table.Query{Index: 1, Backward: true, After: after, Limit: limit}
	if status == "" {
		return tenant.Page(ctx, t, q, Of, "DRIVERS")
	}
	q.Index = 2
	return tenant.Page(ctx, t, q, Of, "DRIVERS", status)
}
