package receipt

import (
	"context"
	"errors"

	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/plaintext"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// Corrected is the response to the correction of a trip's fare.
type Corrected struct {
	ID           string        `json:"id" doc:"Identifier of the trip."`
	FinalFare    *money.Amount `json:"finalFare" nullable:"true" doc:"The fare now, currency units."`
	PreviousFare *money.Amount `json:"previousFare" nullable:"true" doc:"The fare before this correction; null if the trip had none, or had the right one already and was never corrected."`
	Currency     string        `json:"currency" example:"USD" doc:"ISO 4217 code."`
	ReceiptID    string        `json:"receiptId" doc:"Identifier of the receipt that counts now."`
	Version      int           `json:"version" doc:"Its version; the first receipt of a trip has 1."`
	IssuedAt     string        `json:"issuedAt" format:"date-time" doc:"When it was issued."`
}

// correctedBy returns the response to a correction. r is the newest version of the trip's
// receipt.
func correctedBy(r Receipt) *Corrected {
	out := &Corrected{ID: r.TripID, FinalFare: r.Total, Currency: r.Currency, ReceiptID: r.ID, Version: r.Version,
		IssuedAt: r.IssuedAt}
	if r.Correction != nil {
		out.PreviousFare = r.Correction.Was
	}
	return out
}

// errCorrected means that a posting of the correction exists although the receipt is not
// at the version that made it.
var errCorrected = fault.InvalidState("The postings of the trip do not match its receipt. Ask the people who run the " +
	"service to compare them with svc verify.")

// Fare is the request body of a correction.
type Fare struct {
	FinalFare money.Amount `json:"finalFare" minimum:"0" maximum:"1000000000000" example:"18.5" doc:"The right fare in currency units, with no more decimals than the currency has, and at most the company's largest fare."`
	Reason    string       `json:"reason" minLength:"1" maxLength:"300" example:"One zero too many" doc:"Why the fare is corrected. The rider and the driver see it on the receipt."`
}

// Correct corrects the fare of a completed trip. it is the trip's item as the caller read
// it. One transaction changes the trip, keeps the receipt as an earlier version, writes
// the next version, reverses what was posted and posts the new amounts. If the trip is
// not settled yet, the same transaction settles it with its first fare. If the trip has
// the fare already, nothing changes. The postings have the time of the correction; the
// report counts the new fare at the time of completion. The fare cannot become less than
// what was refunded.
//
// The first attempt reads nothing itself: the trip, the receipt, the settings and the flags
// were read together with the access checks. The wallets are known only from the trip, so
// they are changed without a read. They are read only if one of them must be created.
//
// Errors: a 404 if there is no trip, a 409 if it is not completed or if more was refunded
// than the new fare.
func (s Store) Correct(ctx context.Context, it table.Item, f Fare) (*Corrected, error) {
	var out *Corrected
	stale, unread, posted := false, true, false
	return out, table.Retry(ctx, func(ctx context.Context) (err error) {
		if stale {
			if it, err = s.Tenant.Get(ctx, it.Key); err != nil {
				return err
			}
		}
		tr, err := s.correctable(it)
		if err != nil {
			return err
		}
		if !plaintext.IsLine(f.Reason, 300) {
			return fault.Field("body.reason", "expected %s", plaintext.Rule(300))
		}
		fare, err := trip.AcceptFare(f.FinalFare, tr.Currency, s.Flags.Amount("maxFare"))
		if err != nil {
			return fault.Field("body.finalFare", "%s", err.Error())
		}
		next := it.Version + 1
		if codec.OrZero(tr.FinalFare) == fare {
			next = it.Version
		}
		if s.Match != nil {
			if err := s.Match(it.Version, next); err != nil {
				return err
			}
		}
		a, err := s.accounts(ctx, tr, stale, unread)
		if stale = true; err != nil {
			return err
		}
		if !a.receipt.Found() {
			w, err := plan(tr, s.By.At)
			if err != nil {
				return err
			}
			if posted || next == it.Version || s.By.At.Sub(w.at) >= streamAge {
				if _, err = Settle(ctx, s.Tenant, tr, s.By.At); err != nil {
					return err
				}
				return table.ErrConflict // the next attempt reads the new receipt
			}
			a.first = &w
		}
		tx := s.Tenant.Write()
		if out, err = s.correction(tx, a, tr, fare, f.Reason); err != nil {
			return err
		}
		switch err = s.Commit(ctx, tx, out); {
		case errors.Is(err, errUnread):
			unread, err = false, table.ErrConflict
		case errors.Is(err, errPosted): // the trip was settled, but its receipt was lost
			posted, err = true, table.ErrConflict
		}
		return err
	})
}

// accounts returns the items that a correction needs. If stale is false, it may use items
// that were read together with the access checks. If unread is true, it need not read the
// wallets.
func (s Store) accounts(ctx context.Context, tr trip.Trip, stale, unread bool) (ledger, error) {
	if stale || !unread || s.Read == nil {
		a, err := read(ctx, s.Tenant, tr)
		a.unread = unread
		return a, err
	}
	a := ledger{flags: s.Flags, unread: true}
	var err error
	if a.receipt, err = s.Read(ctx, Key(s.Tenant, tr.ID)); err != nil {
		return a, err
	}
	a.settings, err = s.Read(ctx, settings.Key(s.Tenant))
	return a, err
}

// correctable returns the trip of an item. Errors: a 404 if there is no trip, a 409 if the
// fare of the trip must not be corrected.
func (s Store) correctable(it table.Item) (trip.Trip, error) {
	if !it.Found() {
		return trip.Trip{}, fault.NotFound()
	}
	tr, err := trip.FromItem(it)
	if err == nil && tr.Status != trip.Completed {
		err = fault.InvalidState("The fare of a trip that is %s cannot be corrected, because it was not completed.",
			tr.Status)
	}
	if err == nil && tr.Imported {
		err = imported()
	}
	if err == nil && tenant.Gone(s.Flags) {
		err = fault.InvalidState("The company is being deleted.")
	}
	return tr, err
}

// correction adds to the transaction what corrects the fare of the trip, and returns the
// response. It adds nothing if the trip has the fare already.
func (s Store) correction(tx *table.Tx, a ledger, tr trip.Trip, fare money.Amount, reason string) (*Corrected, error) {
	was, err := a.issued()
	if err != nil {
		return nil, err
	}
	if codec.OrZero(tr.FinalFare) == fare {
		if codec.OrZero(was.Total) != fare {
			return nil, table.ErrConflict // the trip or the receipt was read before another correction
		}
		return correctedBy(was), nil
	}
	if sum := a.receipt.Number(refunded).Decimal(); sum.GreaterThan(fare.Decimal()) {
		return nil, fault.InvalidState("%s %s of the trip are refunded already, so its fare cannot be less. Debit the "+
			"rider's wallet with an ADJUSTMENT instead.", sum, tr.Currency)
	}
	next := tr.Note(trip.EventFareCorrected, trip.ByOperator(s.By.Who), trip.LogData{FinalFare: &fare,
		PreviousFare: tr.FinalFare, Reason: &reason}, s.By.At)
	next.FinalFare = &fare
	entries, err := EntriesOf(next)
	if err != nil {
		return nil, err
	}
	now := was.With(next, entries)
	now.ID, now.Version = ids.New(ids.Receipt, s.By.At), was.Version+1
	now.IssuedAt = max(timestamp.Format(s.By.At), was.IssuedAt)
	now.Correction = &Correction{By: s.By.Who, Reason: reason, Was: was.Total}
	postings, err := now.Postings(next)
	if err != nil {
		return nil, err
	}
	earlier, exists := Item(s.Tenant, was.stored()), error(errCorrected)
	earlier.Key, earlier.Version = earlierKey(s.Tenant, tr.ID, was.Version), 0
	if a.first == nil {
		earlier.Preserve = a.receipt.Unknown()
		Replace(tx, a.receipt, now)
	} else {
		tx.Create(Item(s.Tenant, now)).Else(table.ErrConflict)
		postings, exists = append(a.first.postings, postings...), errPosted
		a.count(tx, s.Tenant, tr)
	}
	tx.Create(earlier).Else(table.ErrConflict)
	tx.Replace(next.Item(s.Tenant, writeShards(a.flags))).Else(table.ErrConflict)
	if err := a.post(tx, s.Tenant, tr.Currency, postings, exists); err != nil {
		return nil, err
	}
	audit.Append(tx, s.Tenant, s.By, "trip.fare", tr.ID, map[string]any{"finalFare": tr.FinalFare},
		map[string]any{"finalFare": fare, "reason": reason, "version": now.Version})
	return correctedBy(now), nil
}
