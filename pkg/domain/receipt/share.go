package receipt

import (
	"github.com/shopspring/decimal"

	"svc/pkg/base/codec"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/wallet"
)

// Share explains the amount of a trip's posting in the driver's wallet: the amount is Fare
// less Commission less Outside.
type Share struct {
	Fare       decimal.Decimal // by how much the posting changes the fare
	Commission decimal.Decimal // the company's part of Fare
	Outside    decimal.Decimal // the part of Fare that the driver got outside of the wallet, such as cash
	Step       int             // sort key for postings of the trip with the same time
}

// Shares explains the entries of one trip in the driver's wallet. versions are those of
// the trip's receipt, in their order. The key is the entry's id. An entry that no version
// posted has no share.
func Shares(versions []Receipt, entries []wallet.Entry) map[string]Share {
	out, posted := map[string]Share{}, byID(entries)
	explain := func(e wallet.Entry, v Receipt, fare decimal.Decimal) {
		s := Share{Fare: fare, Step: 2 * v.Version}
		if v.PaymentType == "CASH" || v.PaymentType == "" {
			s.Outside = fare
		}
		s.Commission = fare.Sub(s.Outside).Sub(e.Amount.Decimal())
		out[e.ID] = s
	}
	for _, e := range entries {
		if e.By == nil && len(versions) > 0 { // a posting of the settlement, not of a person
			explain(e, versions[0], codec.OrZero(versions[0].Total).Decimal())
		}
	}
	for _, v := range versions {
		ids := v.driverIDs()
		if ids == nil {
			continue
		}
		was, now := codec.OrZero(v.Correction.Was).Decimal(), codec.OrZero(v.Total).Decimal()
		taken, reversed := posted[ids[reversal]]
		given, renewed := posted[ids[renewal]]
		same, unchanged := posted[ids[unchanged]]
		switch {
		case reversed && renewed:
			explain(taken, v, was.Neg())
			explain(given, v, now)
			after := out[given.ID]
			after.Step++ // the old amount is taken back before the new one is posted
			out[given.ID] = after
		case reversed: // the new amount is 0, which has no posting of its own
			explain(taken, v, now.Sub(was))
		case renewed:
			explain(given, v, now.Sub(was))
		case unchanged:
			explain(same, v, now.Sub(was))
		}
	}
	return out
}

// Unposted returns the postings of 0 that are missing in the driver's wallet, for
// corrections from the time from (inclusive) to the time to (exclusive). Builds up to
// 2026-11 did not make them.
func Unposted(versions []Receipt, entries []wallet.Entry, from, to string) (out []wallet.Entry) {
	posted := byID(entries)
	for _, v := range versions {
		ids := v.driverIDs()
		if ids == nil || v.DriverID == nil || v.IssuedAt < from || v.IssuedAt >= to {
			continue
		}
		missing := true
		for _, id := range ids {
			_, found := posted[id]
			missing = missing && !found
		}
		if at, err := timestamp.Parse(v.IssuedAt); missing && err == nil {
			out = append(out, v.corrected(wallet.Driver, unchanged, decimal.Zero, at))
		}
	}
	return out
}

// driverIDs returns the ids of the correction's postings in the driver's wallet, by kind.
// It returns nil for a version that corrects nothing.
func (r Receipt) driverIDs() map[string]string {
	at, err := timestamp.Parse(r.IssuedAt)
	if r.Correction == nil || err != nil {
		return nil
	}
	out := map[string]string{}
	for _, what := range []string{reversal, renewal, unchanged} {
		out[what] = r.correctionID(wallet.Driver, what, at)
	}
	return out
}

// byID returns the entries by id.
func byID(entries []wallet.Entry) map[string]wallet.Entry {
	out := map[string]wallet.Entry{}
	for _, e := range entries {
		out[e.ID] = e
	}
	return out
}

// Known returns the versions whose totals the newest receipt r knows: r itself and, if r is
// a correction, the version before. The version before has its own total, but the id, the
// time and the other amounts of r.
func (r Receipt) Known() []Receipt {
	if r.Correction == nil {
		return []Receipt{r}
	}
	was := r
	was.Version, was.Total, was.Correction = r.Version-1, r.Correction.Was, nil
	return []Receipt{was, r}
}
