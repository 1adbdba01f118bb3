package customer

import (
	"context"
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

// Key is the key of a customer's record.
func Key(t table.Tenant, id string) table.Key { return authz.ActorKey(t, authz.Rider, id) }

// Create adds a customer with a sign-in row; ID (unless given) and CreatedAt
// (unless given) are made. Hash is the password's, "" for
// none yet. login.ErrTaken when another customer of the tenant has the address.
func Create(ctx context.Context, t table.Tenant, by audit.By, n Record, hash string) (Record, error) {
	if n.ID == "" {
		n.ID = ids.New(ids.Customer, by.At)
	}
	if n.CreatedAt == "" {
		n.CreatedAt = timestamp.Format(by.At)
	}
	if err := n.normal(); err != nil {
		return Record{}, err
	}
	shards, err := tenant.WriteShards(ctx, t)
	if err != nil {
		return Record{}, err
	}
	account := login.Account{Audience: authz.Rider, Address: n.Email, Actor: n.ID, Hash: hash}
	if err := account.Add(ctx, t, by, Item(t, n, shards), "customer.add", n); err != nil {
		return Record{}, fmt.Errorf("create customer: %w", err)
	}
	return n, nil
}

// ByID reads a customer; fault.NotFound when there is none in this tenant.
func ByID(ctx context.Context, t table.Tenant, id string) (Record, error) {
	if !ids.Valid(ids.Customer, id) {
		return Record{}, fault.NotFound()
	}
	it, err := t.Get(ctx, Key(t, id))
	if err != nil {
		return Record{}, fmt.Errorf("customer: %w", err)
	}
	return Of(it)
}

// ByEmail reads the customer of a mail address; fault.NotFound when there is none.
func ByEmail(ctx context.Context, t table.Tenant, address string) (Record, error) {
	l, err := login.Find(ctx, t, authz.Rider, address)
	if err != nil {
		return Record{}, err
	}
	return ByID(ctx, t, l.Actor)
}

// Change runs change on the customer's record and writes what came of it with an
// audit entry; it may run change more than once. Another mail address moves
// the sign-in row, login.ErrTaken when it is taken. Disabled ends the customer's
// sign-in and tokens at once.
func Change(ctx context.Context, t table.Tenant, by audit.By, id string, change func(*Record) error) (Record, error) {
	if !ids.Valid(ids.Customer, id) {
		return Record{}, fault.NotFound()
	}
	var now Record
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := t.Get(ctx, Key(t, id))
		if err != nil {
			return err
		}
		was, err := Of(it)
		if err != nil {
			return err
		}
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
		if err := login.Follow(ctx, tx, t, authz.Rider, id, login.State{Address: was.Email, Disabled: was.Disabled}, login.State{Address: now.Email, Disabled: now.Disabled}); err != nil {
			return err
		}
		audit.Append(tx, t, by, "customer.edit", id, was, now)
		return tx.Commit(ctx)
	})
	if err != nil {
		return Record{}, fmt.Errorf("change customer: %w", err)
	}
	return now, nil
}

// Item is the stored form of a new customer, with Version 1.
func Item(t table.Tenant, r Record, writeShards int) table.Item {
	return item(t, r, strconv.Itoa(ids.Pick(r.ID, writeShards)))
}

// Rewritten is the stored form of a changed customer: of the version that was
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
	return table.Item{Key: Key(t, r.ID), Type: "customer", Version: 1, R: r.CreatedAt + "#" + r.ID,
		G:     [4]string{t.Partition("CUSTOMERS", shard)},
		Attrs: map[string]any{"disabled": r.Disabled, "totalTrips": r.TotalTrips}, Doc: r}
}

// List reads one page of the tenant's customers, newest first.
//
// Access pattern: by-g1 T#t#CUSTOMERS#shard, shards merged.
func List(ctx context.Context, t table.Tenant, after string, limit int) ([]Record, string, error) {
	return tenant.Page(ctx, t, table.Query{Index: 1, Backward: true, After: after, Limit: limit}, Of, "CUSTOMERS")
}
