package settlement

import (
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"

	"svc/pkg/money"
	"svc/pkg/table"
	"svc/pkg/trip"
	"svc/pkg/wallet"
)

// Receipt is what a completed trip came to. Amounts are in units of Currency;
// those of a trip without a fare are null.
type Receipt struct {
	ID           string       `json:"id"`
	TripID       string       `json:"tripId"`
	TripCode     string       `json:"tripCode"`
	DriverID     *string      `json:"driverId"`
	CustomerID   string       `json:"customerId"`
	PaymentType  string       `json:"paymentType"`
	Currency     string       `json:"currency"`
	Total        *json.Number `json:"total"`      // the final fare
	Commission   *json.Number `json:"commission"` // null without a snapshot of the rate
	DriverAmount *json.Number `json:"driverAmount"`
	RiderAmount  *json.Number `json:"riderAmount"` // null where the rider's wallet has no part in it
	CompletedAt  *string      `json:"completedAt"`
	IssuedAt     string       `json:"issuedAt"`
}

// ReceiptKey is the key of a trip's receipt.
func ReceiptKey(t table.Tenant, trip string) table.Key { return t.Key("RECEIPT", "TRIP", trip) }

// ReceiptItem is the stored form of a receipt.
func ReceiptItem(t table.Tenant, r Receipt) table.Item {
	return table.Item{Key: ReceiptKey(t, r.TripID), Type: "receipt", Doc: r}
}

// ReceiptOf is the receipt of a completed trip that was settled at a time.
func ReceiptOf(tr trip.Trip, e Entries, id, at string) Receipt {
	return Receipt{ID: id, TripID: tr.ID, TripCode: tr.TripCode, DriverID: tr.DriverID, CustomerID: tr.CustomerID,
		PaymentType: tr.PaymentType, Currency: tr.Currency, Total: tr.FinalFare, Commission: number(e.Commission),
		DriverAmount: number(e.Driver), RiderAmount: number(e.Rider), CompletedAt: tr.CompletedAt, IssuedAt: at}
}

// PostingOf is the entry of a trip in the wallet of its driver or rider.
func PostingOf(tr trip.Trip, side wallet.Side, amount decimal.Decimal, id, at string) wallet.Posting {
	return wallet.Posting{ID: id, Type: wallet.TripPayment, Amount: money.Number(amount), Description: describe(tr, side == wallet.Customer), CreatedAt: at}
}

// Entries are the amounts posted for a trip; nil is no entry.
type Entries struct {
	Commission *decimal.Decimal // nil without a fare or a snapshot of the rate
	Driver     *decimal.Decimal
	Rider      *decimal.Decimal
}

// EntriesOf decides what a completed trip posts (decisions, "Settlement"):
//
//	CASH    the driver holds the money: the driver is debited the commission
//	CARD    the driver is credited the fare less the commission
//	WALLET  as CARD, and the rider is debited the fare
//
// Without a snapshot of the rate the driver's entry is 0 and the rider's as it
// would be; without a fare the driver's is 0 and the rider has none.
func EntriesOf(tr trip.Trip) (Entries, error) {
	zero := decimal.Zero
	out := Entries{}
	if tr.DriverID != nil {
		out.Driver = &zero
	}
	if tr.FinalFare == nil {
		return out, nil
	}
	fare, err := money.Parse(*tr.FinalFare)
	if err != nil {
		return Entries{}, fmt.Errorf("final fare of %s: %w", tr.ID, err)
	}
	if tr.PaymentType == "WALLET" {
		debit := fare.Neg()
		out.Rider = &debit
	}
	if tr.CommissionRate == nil {
		return out, nil
	}
	rate, err := money.Parse(*tr.CommissionRate)
	if err != nil {
		return Entries{}, fmt.Errorf("commission rate of %s: %w", tr.ID, err)
	}
	commission := money.Commission(fare, rate, tr.Currency)
	out.Commission = &commission
	if tr.DriverID == nil {
		return out, nil
	}
	var amount decimal.Decimal
	switch tr.PaymentType {
	case "CASH", "":
		amount = commission.Neg()
	case "CARD", "WALLET":
		amount = fare.Sub(commission)
	default:
		return Entries{}, fmt.Errorf("payment type %q of %s is not known", tr.PaymentType, tr.ID)
	}
	out.Driver = &amount
	return out, nil
}

// describe is the posting's description: it names the trip's code.
func describe(tr trip.Trip, rider bool) string {
	switch {
	case rider:
		return "Trip " + tr.TripCode + ": fare"
	case tr.PaymentType == "CASH" || tr.PaymentType == "":
		return "Trip " + tr.TripCode + ": commission on a cash fare"
	}
	return "Trip " + tr.TripCode + ": fare less commission"
}

func number(d *decimal.Decimal) *json.Number {
	if d == nil {
		return nil
	}
	return money.Ptr(*d)
}
