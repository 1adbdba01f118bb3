package receipt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

var (
	// errSettled means that the receipt's condition failed: the trip was
	// already settled.
	errSettled = errors.New("the trip has its receipt")
	// errPosted means that a posting's condition failed: the trip was settled,
	// but its receipt was lost.
	errPosted = errors.New("the trip has a posting but no receipt")
	// errUnread means that a change that had not read the wallets failed, because a
	// wallet or its owner does not exist.
	errUnread = errors.New("a wallet must be created, or its owner is gone")
)

// Settle settles a trip for which Trip.Settles is true. done reports whether this call
// settled it; it is false if the trip has a receipt. It sends one batch get and at most
// one transaction. If the trip was completed more than streamAge ago or has a posting, it
// also reads the trip's postings and does not repeat them. It retries after a conflict,
// such as with another settlement of the same driver or rider. If the tenant is deleted
// or being deleted, it does nothing and returns no error.
func Settle(ctx context.Context, t table.Tenant, tr trip.Trip, now time.Time) (done bool, err error) {
	if !tr.Settles() {
		return false, stream.BadData(fmt.Errorf("settle %s: its status is %s, expected %s or a fee", tr.ID, tr.Status,
			trip.Completed))
	}
	w, err := plan(tr, now)
	if err != nil {
		return false, err
	}
	if now.Sub(w.at) < streamAge {
		if done, err = w.settle(ctx, t); !errors.Is(err, errPosted) {
			return done, err
		}
	}
	return w.resettle(ctx, t)
}

// streamAge is how long the stream keeps a record. A trip that was completed earlier may
// have been settled already, even if its receipt was lost.
const streamAge = 24 * time.Hour

// Resettle settles a trip that has no receipt, and does not repeat the
// postings that the trip has.
func Resettle(ctx context.Context, t table.Tenant, tr trip.Trip, now time.Time) (bool, error) {
	w, err := plan(tr, now)
	if err != nil {
		return false, err
	}
	return w.resettle(ctx, t)
}

// work is the settlement of one trip.
type work struct {
	trip     trip.Trip
	entries  Entries
	postings []Posted // the postings that the trip does not have yet
	// uncounted means that totalTrips must not count the trip. Either it has a posting,
	// so it is counted already, or it was cancelled for a fee.
	uncounted bool
	at        time.Time // time of the postings
	now       time.Time // time of the receipt
}

// plan decides what the settlement of a trip writes. The postings have the time at which
// the trip was completed, or cancelled for a fee, even if it is settled later.
func plan(tr trip.Trip, now time.Time) (w work, err error) {
	tr = tr.Charged()
	w = work{trip: tr, at: now, now: now, uncounted: tr.Owes()}
	if w.entries, err = EntriesOf(tr); err != nil {
		return w, stream.BadData(fmt.Errorf("settle: %w", err))
	}
	if tr.CompletedAt != nil {
		if w.at, err = timestamp.Parse(*tr.CompletedAt); err != nil {
			return w, stream.BadData(fmt.Errorf("completion of %s: %w", tr.ID, err))
		}
	}
	w.postings = w.entries.postings(tr, timestamp.Format(w.at))
	return w, nil
}

// resettle settles the trip, but does not repeat the postings that exist.
func (w work) resettle(ctx context.Context, t table.Tenant) (bool, error) {
	items, err := Stored(ctx, t, w.postings)
	if err != nil {
		return false, fmt.Errorf("settle %s: %w", w.trip.ID, err)
	}
	all := w.postings
	w.postings = nil
	for i, it := range items {
		if it.Found() {
			w.uncounted = true
		} else {
			w.postings = append(w.postings, all[i])
		}
	}
	return w.settle(ctx, t)
}

// settle writes the settlement, unless the trip has a receipt or the tenant is gone.
func (w work) settle(ctx context.Context, t table.Tenant) (done bool, err error) {
	err = table.Retry(ctx, func(ctx context.Context) error {
		found, err := read(ctx, t, w.trip)
		if err != nil || found.receipt.Found() || tenant.Gone(found.flags) {
			return err
		}
		tx := t.Write()
		if err := found.compose(tx, t, w); err != nil {
			return stream.BadData(err)
		}
		if err = tx.Commit(ctx); errors.Is(err, errUnread) {
			err = table.ErrConflict
		}
		done = err == nil
		return err
	})
	if errors.Is(err, errSettled) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("settle %s: %w", w.trip.ID, err)
	}
	return done, nil
}

// ledger has the items that a change of a trip's money reads. For an absent item, Found
// reports false.
type ledger struct {
	receipt, flags, settings, driver, driverWallet, rider, riderWallet table.Item

	unread bool  // the wallets and their owners were not read
	first  *work // the settlement that a correction must make first; nil if the trip is settled
}

// read reads all items of the ledger in one batch get.
func read(ctx context.Context, t table.Tenant, tr trip.Trip) (ledger, error) {
	driver := ""
	if tr.DriverID != nil {
		driver = *tr.DriverID
	}
	var out ledger
	var reads table.BatchGet
	reads.Add(t.Handle, Key(t, tr.ID), &out.receipt)
	reads.Add(t.Handle, authz.FlagsKey(t, ids.Pick(tr.ID, authz.Copies)), &out.flags)
	reads.Add(t.Handle, settings.Key(t), &out.settings)
	reads.Add(t.Handle, authz.ActorKey(t, authz.Driver, driver), &out.driver)
	reads.Add(t.Handle, wallet.Key(t, wallet.Driver, driver), &out.driverWallet)
	reads.Add(t.Handle, authz.ActorKey(t, authz.Rider, tr.CustomerID), &out.rider)
	reads.Add(t.Handle, wallet.Key(t, wallet.Customer, tr.CustomerID), &out.riderWallet)
	err := reads.Do(ctx)
	return out, err
}

// compose adds all writes of the settlement to a transaction. The receipt comes first,
// because Commit returns the error of the first failed condition: errSettled must take
// precedence over errPosted.
func (a ledger) compose(tx *table.Tx, t table.Tenant, w work) error {
	r, err := a.issue(w)
	if err != nil {
		return err
	}
	tx.Create(Item(t, r)).Else(errSettled)
	if err := a.post(tx, t, w.trip.Currency, w.postings, errPosted); err != nil || w.uncounted {
		return err
	}
	a.count(tx, t, w.trip)
	return nil
}

// issue returns the first receipt of the trip of w, with the tax rate of the settings.
func (a ledger) issue(w work) (Receipt, error) {
	rules, err := settings.Kind.FromItem(a.settings)
	return Of(w.trip, w.entries, ids.New(ids.Receipt, w.now), timestamp.Format(w.now), rules.Pricing.TaxRate), err
}

// issued returns the receipt that a correction changes. If the trip is not settled yet, this
// is the first receipt, which the correction must issue too.
func (a ledger) issued() (Receipt, error) {
	if a.first == nil {
		return FromItem(a.receipt)
	}
	r, err := a.issue(*a.first)
	r.Version = 1
	return r, err
}

// count adds one to the stored number of trips, totalTrips, of the trip's driver and rider.
func (a ledger) count(tx *table.Tx, t table.Tenant, tr trip.Trip) {
	add := func(key table.Key, read table.Item) {
		if a.unread || read.Found() {
			tx.Update(key, table.Change{Add: map[string]any{"totalTrips": 1, "version": 1}}).If("attribute_exists(pk)").
				Else(errUnread)
		}
	}
	if tr.DriverID != nil {
		add(authz.ActorKey(t, authz.Driver, *tr.DriverID), a.driver)
	}
	add(authz.ActorKey(t, authz.Rider, tr.CustomerID), a.rider)
}

// post adds a trip's postings and the new balances to a transaction. If a posting exists
// already, the transaction fails with the error posted.
func (a ledger) post(tx *table.Tx, t table.Tenant, currency string, all []Posted, posted error) error {
	for _, one := range []struct {
		side        wallet.Side
		holder, was table.Item
	}{{wallet.Driver, a.driver, a.driverWallet}, {wallet.Customer, a.rider, a.riderWallet}} {
		m := wallet.Movement{Side: one.side, Name: NameOf(one.holder), Currency: currency}
		for _, p := range all {
			if p.Side == one.side {
				m.Actor, m.Entries = p.Actor, append(m.Entries, p.Entry)
			}
		}
		if len(m.Entries) == 0 {
			continue
		}
		if a.unread {
			wallet.Shift(tx, t, m, decimal.Zero, posted, errUnread)
			continue
		}
		if _, err := wallet.Move(tx, t, one.was, m, writeShards(a.flags), posted); err != nil {
			return err
		}
	}
	return nil
}

// writeShards returns the number of shards for lists of wallets, from a copy of the
// tenant's flags.
func writeShards(flags table.Item) int { return max(1, int(flags.Int("writeShards"))) }

// NameOf returns the name of a driver or customer from the person's item, "" if the item
// does not exist.
func NameOf(actor table.Item) string {
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
