package settlement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/authz"
	"svc/pkg/ids"
	"svc/pkg/table"
	"svc/pkg/timestamp"
	"svc/pkg/trip"
	"svc/pkg/wallet"
)

// errSettled is the receipt's condition: somebody else was first.
var errSettled = errors.New("the trip has its receipt")

// Settle settles a completed trip, unless it is settled: done says whether
// this call did it. One batch get and one transaction; a conflict with another
// settlement of the same driver or rider is tried again.
func Settle(ctx context.Context, t table.Tenant, tr trip.Trip, now time.Time) (done bool, err error) {
	if tr.Status != trip.Completed {
		return false, fmt.Errorf("settle %s: it is %s", tr.ID, tr.Status)
	}
	entries, err := EntriesOf(tr)
	if err != nil {
		return false, fmt.Errorf("settle: %w", err)
	}
	err = table.Retry(ctx, func(ctx context.Context) error {
		found, err := read(ctx, t, tr)
		if err != nil || found.receipt.Found() {
			return err
		}
		tx := t.Write()
		if err := found.compose(tx, t, tr, entries, now); err != nil {
			return err
		}
		err = tx.Commit(ctx)
		done = err == nil
		return err
	})
	if errors.Is(err, errSettled) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("settle %s: %w", tr.ID, err)
	}
	return done, nil
}

// found is what a settlement reads; zero Items where there is none.
type found struct {
	receipt, flags, driver, driverWallet, rider, riderWallet table.Item
}

func read(ctx context.Context, t table.Tenant, tr trip.Trip) (found, error) {
	driver := ""
	if tr.DriverID != nil {
		driver = *tr.DriverID
	}
	items, err := t.Batch(ctx, ReceiptKey(t, tr.ID), authz.FlagsKey(t, ids.Pick(tr.ID, authz.Copies)),
		authz.ActorKey(t, authz.Driver, driver), wallet.Key(t, wallet.Driver, driver),
		authz.ActorKey(t, authz.Rider, tr.CustomerID), wallet.Key(t, wallet.Customer, tr.CustomerID))
	if err != nil {
		return found{}, err
	}
	return found{items[0], items[1], items[2], items[3], items[4], items[5]}, nil
}

// compose puts the whole settlement into a transaction. The receipt comes
// first: its condition is the one that decides.
func (f found) compose(tx *table.Tx, t table.Tenant, tr trip.Trip, e Entries, now time.Time) error {
	at := now // of the payment: the trip's completion, however late it is settled
	if tr.CompletedAt != nil {
		var err error
		if at, err = timestamp.Parse(*tr.CompletedAt); err != nil {
			return fmt.Errorf("completion of %s: %w", tr.ID, err)
		}
	}
	tx.Create(ReceiptItem(t, ReceiptOf(tr, e, ids.New(ids.Receipt, now), timestamp.Format(now)))).Else(errSettled)
	shards := max(1, int(f.flags.Int("writeShards")))
	post := func(side wallet.Side, actor string, holder, was table.Item, amount decimal.Decimal) error {
		return wallet.Move(tx, t, was, wallet.Movement{Side: side, Actor: actor, Name: nameOf(holder), Currency: tr.Currency,
			Posting: PostingOf(tr, side, amount, ids.New(ids.Posting, at), timestamp.Format(at))}, shards)
	}
	if e.Driver != nil {
		if err := post(wallet.Driver, *tr.DriverID, f.driver, f.driverWallet, *e.Driver); err != nil {
			return err
		}
	}
	if e.Rider != nil {
		if err := post(wallet.Customer, tr.CustomerID, f.rider, f.riderWallet, *e.Rider); err != nil {
			return err
		}
	}
	for _, actor := range []table.Item{f.driver, f.rider} {
		if actor.Found() {
			tx.Update(actor.Key, table.Change{Add: map[string]any{"totalTrips": 1, "version": 1}}).
				If("attribute_exists(pk)").Else(table.ErrConflict)
		}
	}
	return nil
}

// nameOf is the name of a driver or customer, "" where there is no such item.
func nameOf(actor table.Item) string {
	var doc struct {
		Name      string `json:"name"`
		FirstName string `json:"firstName"`
		LastName  string `json:"lastName"`
	}
	if !actor.Found() || actor.Decode(&doc) != nil {
		return ""
	}
	if doc.Name != "" {
		return doc.Name
	}
	return strings.TrimSpace(doc.FirstName + " " + doc.LastName)
}
