package receipt

import (
	"fmt"

	"github.com/shopspring/decimal"

	"svc/pkg/base/money"
	"svc/pkg/domain/trip"
)

// Entries are the amounts of a trip's settlement. If Driver or Rider is nil,
// that wallet gets no posting.
type Entries struct {
	Commission *decimal.Decimal // nil without a fare or a commission rate on the trip
	Driver     *decimal.Decimal
	Rider      *decimal.Decimal
}

// EntriesOf computes the wallet entries of a completed trip:
//
//	CASH    the driver holds the money: the driver is debited the commission
//	CARD    the driver is credited the fare less the commission
//	WALLET  as CARD, and the rider is debited the fare
//
// The fee of a cancelled trip is posted as a fare that is paid from the wallet, so the
// driver who came gets the fee less the commission.
//
// A trip without a payment type counts as CASH. Without a commission rate on the trip,
// the driver's entry is 0 and the rider's entry stays as above. Without a fare, the
// driver's entry is 0 and the rider has none. Without a driver, there is no
// driver's entry. Errors: an unknown payment type.
func EntriesOf(tr trip.Trip) (Entries, error) {
	tr = tr.Charged()
	zero := decimal.Zero
	out := Entries{}
	if tr.DriverID != nil {
		out.Driver = &zero
	}
	if tr.FinalFare == nil {
		return out, nil
	}
	fare := tr.FinalFare.Decimal()
	if tr.PaymentType == "WALLET" {
		debit := fare.Neg()
		out.Rider = &debit
	}
	if tr.CommissionRate == nil {
		return out, nil
	}
	commission := money.Commission(fare, tr.CommissionRate.Decimal(), tr.Currency)
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

// describe returns the description of a trip's posting, which contains the trip's code.
// rider says that the posting is in the rider's wallet.
func describe(tr trip.Trip, rider bool) string {
	switch {
	case tr.Owes() && rider:
		return "Trip " + tr.TripCode + ": cancellation fee"
	case tr.Owes() && tr.CommissionRate != nil:
		return "Trip " + tr.TripCode + ": cancellation fee less commission"
	case rider:
		return "Trip " + tr.TripCode + ": fare"
	case tr.FinalFare == nil:
		return "Trip " + tr.TripCode + ": no fare"
	case tr.CommissionRate == nil:
		return "Trip " + tr.TripCode + ": nothing to settle, because the trip has no service type"
	case tr.PaymentType == "CASH" || tr.PaymentType == "":
		return "Trip " + tr.TripCode + ": commission on a cash fare"
	}
	return "Trip " + tr.TripCode + ": fare less commission"
}

// number returns an amount as a receipt stores it. nil stays nil, which is null in JSON.
func number(d *decimal.Decimal) *money.Amount {
	if d == nil {
		return nil
	}
	return money.Ptr(*d)
}
