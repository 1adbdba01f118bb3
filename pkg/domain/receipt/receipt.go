package receipt

import (
	"cmp"
	"fmt"

	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
)

// Receipt is the final bill of a completed trip, as it is stored. Amounts are
// in units of Currency. Without a fare they are null, except DriverAmount, which
// is 0 if the trip has a driver.
type Receipt struct {
	ID           string        `json:"id"`
	TripID       string        `json:"tripId"`
	TripCode     string        `json:"tripCode"`
	DriverID     *string       `json:"driverId"`
	CustomerID   string        `json:"customerId"`
	PaymentType  string        `json:"paymentType"`
	Currency     string        `json:"currency"`
	Total        *money.Amount `json:"total"`        // the final fare
	Commission   *money.Amount `json:"commission"`   // null without a commission rate on the trip
	DriverAmount *money.Amount `json:"driverAmount"` // null without a driver
	RiderAmount  *money.Amount `json:"riderAmount"`  // null if the rider's wallet is not involved
	CompletedAt  *string       `json:"completedAt"`
	IssuedAt     string        `json:"issuedAt"`
	TaxRate      *money.Amount `json:"taxRate,omitempty"` // the tenant's tax rate when the trip was settled; nil for 0
	Version      int           `json:"version,omitempty"` // counts corrections; 0 means 1, the first receipt
	Correction   *Correction   `json:"correction,omitempty"`
}

// Correction says why a receipt with a version above 1 was issued.
type Correction struct {
	By     string        `json:"by"` // who corrected the fare: an operator's id, or svc: and a name
	Reason string        `json:"reason"`
	Was    *money.Amount `json:"was"` // total of the version before
}

// Key returns the key of the newest version of a trip's receipt.
func Key(t table.Tenant, trip string) table.Key { return t.Key("TRIP", trip, "RECEIPT") }

// earlier is the prefix of the keys of the versions before the newest.
const earlier = "RECEIPT#"

// earlierKey returns the key of an earlier version of a trip's receipt.
func earlierKey(t table.Tenant, trip string, version int) table.Key {
	return t.Key("TRIP", trip, fmt.Sprintf("%s%06d", earlier, version))
}

var _ = table.Kind[any]{Type: "receipt", Personal: "reason of a correction",
	Erasure: "removes the reason; amounts stay"}

// Item returns the stored form of the newest version of a receipt.
func Item(t table.Tenant, r Receipt) table.Item {
	return table.Item{Key: Key(t, r.TripID), Type: "receipt", Version: 1, Attrs: map[string]any{refunded: nil}, Doc: r}
}

// refunded is the attribute with the sum of the trip's refunds. Only the newest version
// has it.
const refunded = "refunded"

// Replace writes the newest version r of a receipt over the item was, which was read, and
// keeps the sum of its refunds. The transaction fails with table.ErrConflict if the receipt
// has changed since the read.
func Replace(tx *table.Tx, was table.Item, r Receipt) {
	var sum any
	if was.Has(refunded) {
		sum = was.Number(refunded)
	}
	replace(tx, was, r, sum)
}

// replace does what Replace does, but stores sum as the sum of the refunds, nil for none.
func replace(tx *table.Tx, was table.Item, r Receipt, sum any) {
	next := Item(table.Tenant{}, r)
	next.Key, next.Attrs[refunded], next.Version, next.Preserve = was.Key, sum, was.Version, was.Unknown()
	if was.Version > 0 {
		tx.Replace(next).Else(table.ErrConflict)
		return
	}
	next.Version = 1 // builds up to 2026-11 stored receipts without a version
	tx.Put(next).If("attribute_exists(pk) AND attribute_not_exists('version')").Else(table.ErrConflict)
}

// FromItem decodes a receipt from its item.
func FromItem(it table.Item) (Receipt, error) {
	r, err := table.DecodeDoc[Receipt](it)
	r.Version = cmp.Or(r.Version, 1)
	return r, err
}

// Of returns the first receipt of a trip, with the trip's fare and the entries e. id is the
// receipt's id, and at is when the trip was settled. taxRate is the tenant's tax rate, ""
// for 0; the tax is a part of the total. Later corrections keep this tax rate.
func Of(tr trip.Trip, e Entries, id, at string, taxRate money.Amount) Receipt {
	r := Receipt{ID: id, TripID: tr.ID, TripCode: tr.TripCode, DriverID: tr.DriverID, CustomerID: tr.CustomerID,
		PaymentType: tr.PaymentType, Currency: tr.Currency, CompletedAt: tr.CompletedAt, IssuedAt: at}
	if rate := taxRate.Decimal(); rate.IsPositive() {
		r.TaxRate = money.Ptr(rate)
	}
	return r.With(tr, e)
}

// With returns the receipt with the fare of the trip and the amounts of its entries.
func (r Receipt) With(tr trip.Trip, e Entries) Receipt {
	r.Total, r.Commission, r.DriverAmount, r.RiderAmount = tr.FinalFare, number(e.Commission), number(e.Driver),
		number(e.Rider)
	return r
}

// stored returns the receipt as it is stored: in the first version, Version is 0.
func (r Receipt) stored() Receipt {
	if r.Version == 1 {
		r.Version = 0
	}
	return r
}
