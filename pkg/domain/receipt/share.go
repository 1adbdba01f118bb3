package receipt

import (
	"encoding/json"

	"github.com/shopspring/decimal"

	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/wallet"
)

// Share explains a posting of a trip to its driver's wallet. Fare less Commission
// less Outside is the amount of the posting.
type Share struct {
	Fare       decimal.Decimal
	Commission decimal.Decimal
	Outside    decimal.Decimal // of the fare, what the driver got outside of the wallet
}

// ShareOf explains the entry of a driver's wallet by the versions of the trip's
// receipt, in their order. ok is false if none of them posted it.
func ShareOf(versions []Receipt, e wallet.Entry) (s Share, ok bool) {
	r, total, negative := versionOf(versions, e)
	if r == nil {
		return s, false
	}
	if total != nil {
		s.Fare = money.Must(*total)
	}
	if negative {
		s.Fare = s.Fare.Neg()
	}
	if r.PaymentType == "CASH" || r.PaymentType == "" || r.Commission == nil {
		s.Outside = s.Fare
	}
	s.Commission = s.Fare.Sub(s.Outside).Sub(money.Must(e.Amount))
	return s, true
}

// versionOf returns the version that posted the entry, and the total that the entry
// posts or, if negative, takes back.
func versionOf(versions []Receipt, e wallet.Entry) (r *Receipt, total *json.Number, negative bool) {
	if e.By == nil && len(versions) > 0 { // settlement's postings are those of nobody
		return &versions[0], versions[0].Total, false
	}
	for i, v := range versions {
		at, err := timestamp.Parse(v.IssuedAt)
		switch {
		case v.Correction == nil || err != nil:
		case e.ID == v.correctionID(wallet.Driver, reversal, at):
			return &versions[i], v.Correction.Was, true
		case e.ID == v.correctionID(wallet.Driver, renewal, at):
			return &versions[i], v.Total, false
		}
	}
	return nil, nil, false
}

// Known returns the versions that the newest one tells of: itself, and the one
// before it, without its time.
func (r Receipt) Known() []Receipt {
	if r.Correction == nil {
		return []Receipt{r}
	}
	was := r
	was.Version, was.Total, was.Correction = r.Version-1, r.Correction.Was, nil
	return []Receipt{was, r}
}
