package receipt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/base/codec"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// PostingOf returns a trip's posting in the wallet of its driver or rider. The
// posting's id is derived from the trip's id, so a wallet cannot get two
// postings for one trip. side is the wallet's owner, driver or rider, and at is the time
// of the posting.
func PostingOf(tr trip.Trip, side wallet.Side, amount decimal.Decimal, at string) wallet.Entry {
	_, id, _ := strings.Cut(tr.ID, "_")
	return wallet.Entry{TripID: &tr.ID, Posting: wallet.Posting{ID: ids.Posting + "_" + id, Type: wallet.TripPayment,
		Amount: money.Of(amount), Description: describe(tr, side == wallet.Customer), CreatedAt: at}}
}

// Posted is a posting of a trip, and the wallet that it is in.
type Posted struct {
	Side  wallet.Side
	Actor string // id of the driver or rider
	Code  string // the trip's code
	Entry wallet.Entry
}

// Key returns the posting's key.
func (p Posted) Key(t table.Tenant) table.Key {
	return wallet.PostingKey(t, p.Side, p.Actor, p.Entry.Posting)
}

// side is one of the two wallets of a trip's settlement, the driver's or the rider's.
// amount is posted to it, nil for no posting.
type side struct {
	side   wallet.Side
	actor  string
	amount *decimal.Decimal
}

// sides returns the wallets of the trip's driver and of its rider, each with its amount.
func (e Entries) sides(tr trip.Trip) [2]side {
	driver := ""
	if tr.DriverID != nil {
		driver = *tr.DriverID
	}
	return [2]side{{wallet.Driver, driver, e.Driver}, {wallet.Customer, tr.CustomerID, e.Rider}}
}

// postings returns the trip's postings, one for each wallet with an amount. at is the
// time of the postings.
func (e Entries) postings(tr trip.Trip, at string) (out []Posted) {
	for _, s := range e.sides(tr) {
		if s.amount != nil {
			out = append(out, Posted{s.side, s.actor, tr.TripCode, PostingOf(tr, s.side, *s.amount, at)})
		}
	}
	return out
}

// Postings returns the postings that one version of a trip's receipt made: those
// of the settlement, or those of a correction. A correction reverses the amount
// that stood before, and posts the new one. Their ids are derived from the trip
// and the version, so a correction cannot post twice.
func (r Receipt) Postings(tr trip.Trip) ([]Posted, error) {
	tr.FinalFare = r.Total
	now, err := EntriesOf(tr)
	if err != nil {
		return nil, err
	}
	if r.Correction == nil {
		if tr.CompletedAt == nil {
			return nil, nil
		}
		return now.postings(tr, *tr.CompletedAt), nil
	}
	tr.FinalFare = r.Correction.Was
	was, err := EntriesOf(tr)
	if err != nil {
		return nil, err
	}
	at, err := timestamp.Parse(r.IssuedAt)
	if err != nil {
		return nil, fmt.Errorf("correction of %s: %w", tr.ID, err)
	}
	var out []Posted
	before, after := was.sides(tr), now.sides(tr)
	for i, s := range after {
		old, next := codec.OrZero(before[i].amount), codec.OrZero(s.amount)
		post := func(amount decimal.Decimal, what string) {
			out = append(out, Posted{s.side, s.actor, tr.TripCode, r.corrected(s.side, what, amount, at)})
		}
		if old.Equal(next) {
			if s.side == wallet.Driver && s.amount != nil {
				post(decimal.Zero, unchanged)
			}
			continue
		}
		if !old.IsZero() {
			post(old.Neg(), reversal)
		}
		if !next.IsZero() {
			post(next, renewal)
		}
	}
	return out, nil
}

// The kinds of postings of a correction. If the fare changes but not the driver's amount,
// the driver's wallet gets a posting of 0, because the statement finds corrections by their
// postings.
const (
	reversal  = "reversal"
	renewal   = "new amount"
	unchanged = "same amount"
)

// corrected returns a posting of the correction that made this version of the receipt. s
// is the wallet's owner, what is the kind of the posting, and at is the receipt's time.
func (r Receipt) corrected(s wallet.Side, what string, amount decimal.Decimal, at time.Time) wallet.Entry {
	return wallet.Entry{TripID: &r.TripID, By: &r.Correction.By, Posting: wallet.Posting{Type: wallet.TripPayment,
		ID: r.correctionID(s, what, at), Amount: money.Of(amount), CreatedAt: r.IssuedAt,
		Description: "Trip " + r.TripCode + ": fare corrected, " + what}}
}

// correctionID returns the id of a posting of the correction. It is derived from the
// trip, the version, the wallet and the kind.
func (r Receipt) correctionID(s wallet.Side, what string, at time.Time) string {
	return ids.Derived(ids.Posting, at, fmt.Sprintf("%s#%d#%s#%s", r.TripID, r.Version, s, what))
}

// Stored returns the stored item of each posting, or the zero Item if there is none.
// Builds up to 2026-11 gave postings ids that are not derived from the trip's id. Stored
// finds such a posting by its time and the trip's code.
func Stored(ctx context.Context, t table.Tenant, all []Posted) ([]table.Item, error) {
	keys := make([]table.Key, len(all))
	for i, p := range all {
		keys[i] = p.Key(t)
	}
	var items []table.Item
	for some := range slices.Chunk(keys, 100) {
		found, err := t.Batch(ctx, some...)
		if err != nil {
			return nil, err
		}
		items = append(items, found...)
	}
	for i, it := range items {
		if it.Found() || all[i].Entry.By != nil { // By is set in corrections, which older builds did not make
			continue
		}
		page, err := t.Query(ctx, keys[i].PK, table.Query{Prefix: "POSTING#" + all[i].Entry.CreatedAt + "#",
			Limit: table.Examined, Consistent: true})
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			var p wallet.Posting
			if it.Decode(&p) == nil && strings.HasPrefix(p.Description, "Trip "+all[i].Code+":") {
				items[i] = it
			}
		}
	}
	return items, nil
}

// Earlier returns the versions of a trip's receipt before the newest, in their
// order.
//
// Access pattern: T#t#TRIP#id with the prefix RECEIPT#, strongly consistent.
func Earlier(ctx context.Context, t table.Tenant, id string) (out []Receipt, err error) {
	q := table.Query{Prefix: earlier, Limit: table.Examined, Consistent: true}
	for items, err := range t.Pages(ctx, t.Partition("TRIP", id), q) {
		if err != nil {
			return nil, err
		}
		some, err := table.DecodeAll(items, FromItem)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// Chain reports whether the versions of a receipt follow each other without a gap: each
// correction names the total of the version before.
func Chain(versions []Receipt) bool {
	for i, r := range versions {
		switch {
		case r.Version != i+1 || (r.Correction == nil) != (i == 0):
			return false
		case i > 0 && codec.OrZero(r.Correction.Was) != codec.OrZero(versions[i-1].Total):
			return false
		}
	}
	return true
}
