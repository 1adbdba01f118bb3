package receipt

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/shopspring/decimal"

	"svc/pkg/access/authz"
	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/plaintext"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/account"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// Store posts to the wallets of one tenant and corrects its fares, for one caller.
type Store struct {
	Tenant table.Tenant
	By     audit.By
	Flags  table.Item // a copy of the tenant's flags
	// Read returns an item that the checks of the request have read, for the first
	// attempt of a change. Later attempts, or all if Read is nil, read the table.
	Read func(context.Context, table.Key) (table.Item, error)
	// Commit commits a transaction. answer is the response of the request.
	Commit func(ctx context.Context, tx *table.Tx, answer any) error
	// Match, if not nil, checks the If-Match header of a correction: version is the
	// trip's version before it, and next the one after it.
	Match func(version, next int64) error
}

// Post is what an operator posts to a wallet.
type Post struct {
	CustomerID  *string      `json:"customerId,omitempty" minLength:"1" maxLength:"100" doc:"The rider whose wallet it is. Send either customerId or driverId."`
	DriverID    *string      `json:"driverId,omitempty" minLength:"1" maxLength:"100" doc:"The driver whose wallet it is."`
	Type        string       `json:"type" enum:"TOP_UP,REFUND,PAYOUT,ADJUSTMENT" doc:"TOP_UP and REFUND credit the wallet, PAYOUT debits it, ADJUSTMENT does either."`
	Amount      money.Amount `json:"amount" minimum:"-1000000000000" maximum:"1000000000000" example:"25.5" doc:"Currency units, with no more decimals than the currency has, and at most the company's largest posting. Above 0, also for a PAYOUT; only an ADJUSTMENT may be negative, to debit the wallet."`
	Description string       `json:"description" minLength:"1" maxLength:"300" example:"Paid in at the office" doc:"What it is for. The owner of the wallet sees it."`
	TripID      *string      `json:"tripId,omitempty" minLength:"1" maxLength:"100" doc:"The trip that it is about. A REFUND needs it: the refunds of a trip never exceed what the trip took."`
}

// Resolve implements huma.Resolver: it checks what needs no read. An agent's request is
// checked so before a person is asked to confirm it.
func (p *Post) Resolve(huma.Context) (errs []error) {
	for _, d := range p.faults() {
		errs = append(errs, &huma.ErrorDetail{Location: d.Field, Message: d.Message})
	}
	return errs
}

// faults returns what is wrong with the request, as far as it can be checked without a
// read.
func (p *Post) faults() (wrong fault.Faults) {
	wrong.Unless((p.CustomerID == nil) != (p.DriverID == nil), "body.customerId", "expected either customerId or driverId")
	wrong.Unless(plaintext.IsLine(p.Description, 300), "body.description", "expected %s", plaintext.Rule(300))
	if p.Type == wallet.Refund {
		wrong.Unless(p.TripID != nil, "body.tripId", "is required for a REFUND")
		wrong.Unless(p.DriverID == nil, "body.driverId", "a REFUND goes to the rider of the trip")
	}
	return wrong
}

// owner returns whose wallet the posting is for, and the field of the request that names
// the owner. All are "" if no field does.
func (p *Post) owner() (side wallet.Side, actor, field string) {
	if p.DriverID != nil {
		return wallet.Driver, *p.DriverID, "body.driverId"
	}
	if p.CustomerID != nil {
		return wallet.Customer, *p.CustomerID, "body.customerId"
	}
	return "", "", ""
}

// amount returns what the posting adds to the balance, negative for a debit. Errors: a
// 400.
func (p *Post) amount(flags table.Item) (decimal.Decimal, error) {
	digits, negative := strings.CutPrefix(string(p.Amount), "-")
	currency := flags.Text("currency")
	amount, err := money.Accept(digits, currency)
	most := money.MaxPosting(flags.Amount("maxPosting"), currency).Decimal()
	switch {
	case err != nil:
		return amount, fault.Field("body.amount", "%s", err.Error())
	case negative && p.Type != wallet.Adjustment:
		return amount, fault.Field("body.amount", "expected an amount above 0; only an ADJUSTMENT may be negative")
	case amount.IsZero():
		return amount, fault.Field("body.amount", "expected an amount other than 0")
	case amount.GreaterThan(most):
		return amount, fault.Field("body.amount", "expected at most %s, the company's largest posting", most)
	case negative || p.Type == wallet.Payout:
		return amount.Neg(), nil
	}
	return amount, nil
}

// Made is the response to a posting.
type Made struct {
	wallet.Entry
	CustomerID *string      `json:"customerId" doc:"The rider whose wallet it is."`
	DriverID   *string      `json:"driverId" doc:"The driver whose wallet it is."`
	Balance    money.Amount `json:"balance" doc:"The balance after the posting, currency units."`
	Currency   string       `json:"currency" doc:"ISO 4217 code."`
}

// basis has the items that a posting depends on. holder is the owner of the wallet.
type basis struct{ holder, wallet, trip, receipt table.Item }

// keys returns the keys of a posting's basis, in the order of its fields, without the
// trip if there is none.
func (p *Post) keys(t table.Tenant) []table.Key {
	side, actor, _ := p.owner()
	kind, audience := ids.Customer, authz.Rider
	if side == wallet.Driver {
		kind, audience = ids.Driver, authz.Driver
	}
	if !ids.Valid(kind, actor) {
		return nil
	}
	keys := []table.Key{authz.ActorKey(t, audience, actor), wallet.Key(t, side, actor)}
	if p.TripID != nil && ids.Valid(ids.Trip, *p.TripID) {
		keys = append(keys, trip.Key(t, *p.TripID), Key(t, *p.TripID))
	}
	return keys
}

// basis reads the basis of a posting. again says that an earlier attempt failed, so what
// the checks have read may have changed.
func (s Store) basis(ctx context.Context, p *Post, again bool) (b basis, err error) {
	keys := p.keys(s.Tenant)
	items := make([]table.Item, len(keys))
	if again || s.Read == nil {
		items, err = s.Tenant.Batch(ctx, keys...)
	} else {
		for i, key := range keys {
			if items[i], err = s.Read(ctx, key); err != nil {
				break
			}
		}
	}
	if err != nil {
		return b, err
	}
	for i, into := range []*table.Item{&b.holder, &b.wallet, &b.trip, &b.receipt}[:len(items)] {
		*into = items[i]
	}
	return b, nil
}

// Post posts to a wallet. Errors: a 400 with what is wrong, and a 409 if the
// wallet or the trip does not hold the amount.
func (s Store) Post(ctx context.Context, p Post) (*Made, error) {
	if err := p.faults().Err(); err != nil {
		return nil, err
	}
	amount, err := p.amount(s.Flags)
	if err != nil {
		return nil, err
	}
	side, actor, _ := p.owner()
	out := &Made{CustomerID: p.CustomerID, DriverID: p.DriverID, Currency: s.Flags.Text("currency"),
		Entry: wallet.Entry{TripID: p.TripID, By: &s.By.Who, Posting: wallet.Posting{ID: ids.New(ids.Posting, s.By.At),
			Type: p.Type, Amount: money.Of(amount), Description: p.Description, CreatedAt: timestamp.Format(s.By.At)}}}
	again := false
	return out, table.Retry(ctx, func(ctx context.Context) error {
		b, err := s.basis(ctx, &p, again)
		if err != nil {
			return err
		}
		again = true
		if err := p.suits(b); err != nil {
			return err
		}
		tx := s.Tenant.Write()
		if p.Type == wallet.Refund {
			if err := refund(tx, b, amount); err != nil {
				return err
			}
		}
		after, err := wallet.Move(tx, s.Tenant, b.wallet, wallet.Movement{Side: side, Actor: actor, Name: NameOf(b.holder),
			Currency: out.Currency, Entries: []wallet.Entry{out.Entry}, Allows: p.allows(s.Flags)}, writeShards(s.Flags),
			table.ErrConflict)
		if err != nil {
			return err
		}
		if out.Balance = money.Of(after.Balance); !b.wallet.Found() {
			tenant.Price(tx, s.Flags)
		}
		audit.Append(tx, s.Tenant, s.By, "wallet.post", actor, nil, out)
		return s.Commit(ctx, tx, out)
	})
}

// suits checks that the wallet's owner and the trip exist and belong together. It also
// checks that the owner was not erased, because the description would be stored as new
// data about the person.
func (p *Post) suits(b basis) error {
	side, actor, field := p.owner()
	var wrong fault.Faults
	wrong.Unless(b.holder.Found(), field, "expected a %s of this company", side)
	if p.TripID != nil {
		mine := b.trip.Text("customerId")
		if side == wallet.Driver {
			mine = b.trip.Text("driverId")
		}
		wrong.Unless(b.trip.Found() && mine == actor, "body.tripId", "expected a trip of this %s", side)
	}
	if err := wrong.Err(); err != nil || !account.Erased(b.holder) {
		return err
	}
	return fault.InvalidState("This person was erased, so nothing more is posted to the wallet.")
}

// allows returns a check of the wallet as it is after the posting. A payout must leave
// the amounts that withdrawals hold. A debit of a rider must not go below the company's
// floor. A driver's wallet may go below zero by an adjustment, or by the commission of
// cash rides: a driver may owe money.
func (p *Post) allows(flags table.Item) func(wallet.Wallet) error {
	return func(after wallet.Wallet) error {
		if free := after.Balance.Sub(after.Held); p.Type == wallet.Payout && free.IsNegative() {
			was := money.Of(free.Add(p.Amount.Decimal()))
			return &fault.Error{Kind: fault.KindBalance, Message: "The wallet does not hold the amount. At most " +
				string(was) + " " + after.Currency + " can be paid out; what withdrawals hold is not counted."}
		}
		floor, ok := wallet.Floor(flags)
		if ok && after.Side == wallet.Customer && p.Amount[0] == '-' && after.Balance.LessThan(floor) {
			return &fault.Error{Kind: fault.KindBalance, Message: "The rider's wallet would be at " +
				after.Balance.String() + ", below the company's floor of " + floor.String() + " " +
				after.Currency + "."}
		}
		return nil
	}
}

// refund adds the amount to the sum of refunds in the trip's receipt. The sum limits
// several refunds, also concurrent ones. The money goes to the wallet, even if the ride
// was paid in cash. Errors: a 409 if the trip is not settled or took less than the sum.
func refund(tx *table.Tx, b basis, amount decimal.Decimal) error {
	if !b.receipt.Found() {
		tr, err := trip.FromItem(b.trip)
		if err != nil {
			return err
		}
		return unsettled(tr)
	}
	r, err := FromItem(b.receipt)
	if err != nil {
		return err
	}
	took, before := codec.OrZero(r.Total).Decimal(), b.receipt.Number(refunded).Decimal()
	sum := before.Add(amount)
	if sum.GreaterThan(took) {
		return fault.InvalidState("The trip took %s %s, of which %s are refunded. At most %s more can be refunded.", took,
			r.Currency, before, decimal.Max(took.Sub(before), decimal.Zero))
	}
	replace(tx, b.receipt, r.stored(), money.Of(sum))
	return nil
}

// imported returns the 409 for an imported trip, which has no receipt.
func imported() error {
	return fault.InvalidState("The trip was imported, so it was paid in another system and has no receipt here.")
}

// unsettled returns the 409 for a trip without a receipt.
func unsettled(tr trip.Trip) error {
	if tr.Settles() {
		return fault.InvalidState("The trip is not settled yet. Try again in a moment.")
	}
	if tr.Imported {
		return imported()
	}
	return fault.InvalidState("A trip that is %s has no receipt.", tr.Status)
}
