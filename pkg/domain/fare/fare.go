package fare

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"svc/pkg/base/money"
)

// Prices has the prices of a ride's service type, and the tenant's rules for waiting
// and rounding. Amounts are in units of the currency.
type Prices struct {
	Base    money.Amount // part of every fare
	PerKm   money.Amount // per kilometre
	PerMin  money.Amount // per minute of the ride
	Minimum money.Amount // the lowest fare
	Waiting money.Amount // per minute that the driver waits for the rider, after the free minutes
	Free    int          // minutes of waiting that are free
	Step    money.Amount // fares are rounded to a multiple of it; 0 means to the currency's decimals
}

// Snapshot is the stored form of Prices: the seven numbers in the order of the fields,
// separated by "|", where 0 is an empty text. It is short, because every trip with a
// service type has one. "" means that there are no prices.
type Snapshot string

// Snapshot returns the stored form of the prices. It is "" if Base, PerKm, PerMin and
// Minimum are all 0.
func (p Prices) Snapshot() Snapshot {
	if zero(p.Base) && zero(p.PerKm) && zero(p.PerMin) && zero(p.Minimum) {
		return ""
	}
	parts := []money.Amount{p.Base, p.PerKm, p.PerMin, p.Minimum, p.Waiting, money.Amount(strconv.Itoa(p.Free)), p.Step}
	texts := make([]string, len(parts))
	for i, part := range parts {
		if !zero(part) {
			texts[i] = string(part)
		}
	}
	return Snapshot(strings.Join(texts, "|"))
}

// Prices decodes the stored form of prices. ok is false if there are no prices, or if the
// text is not a stored form.
func (s Snapshot) Prices() (p Prices, ok bool) {
	parts := strings.Split(string(s), "|")
	if len(parts) != 7 {
		return p, false
	}
	for _, part := range parts {
		if _, err := money.Parse(cmp.Or(part, "0")); err != nil {
			return p, false
		}
	}
	free, err := strconv.Atoi(cmp.Or(parts[5], "0"))
	n := func(i int) money.Amount { return money.Amount(parts[i]) }
	return Prices{n(0), n(1), n(2), n(3), n(4), free, n(6)}, err == nil
}

// Measures has the measured or estimated distance and times of a ride.
type Measures struct {
	Kilometres *decimal.Decimal // nil if not known
	Seconds    *decimal.Decimal // of the ride; nil if not known
	Waiting    decimal.Decimal  // seconds from the driver's arrival to the start
}

// zero reports whether a price is not set or 0.
func zero(n money.Amount) bool { return n == "" || n == "0" }

// Of returns the fare of a ride with the measures m, in the currency (ISO 4217):
//
//	base + perKm × kilometres + perMinute × minutes + waiting × (minutes waited − free minutes)
//
// but at least the minimum. Only the result is rounded, half to even: first to a multiple
// of the step, or to the next multiple if that is below the minimum; then to the currency's
// decimals. ok is false if the prices need a distance or time that is not known.
func (p Prices) Of(m Measures, currency string) (fare decimal.Decimal, ok bool) {
	if !zero(p.PerKm) && m.Kilometres == nil || !zero(p.PerMin) && m.Seconds == nil {
		return fare, false
	}
	// Prices are per minute, and times are in seconds. So sum is the fare times 60: then no
	// division loses a digit.
	sixty := decimal.NewFromInt(60)
	sum := p.Base.Decimal()
	if m.Kilometres != nil {
		sum = sum.Add(p.PerKm.Decimal().Mul(*m.Kilometres))
	}
	sum = sum.Mul(sixty)
	if m.Seconds != nil {
		sum = sum.Add(p.PerMin.Decimal().Mul(*m.Seconds))
	}
	if waited := m.Waiting.Sub(decimal.NewFromInt(int64(p.Free) * 60)); waited.IsPositive() {
		sum = sum.Add(p.Waiting.Decimal().Mul(waited))
	}
	least := p.Minimum.Decimal().Mul(sixty)
	sum = decimal.Max(sum, least)
	if step := p.Step.Decimal().Mul(sixty); step.IsPositive() {
		if sum = halfEven(sum, step).Mul(step); sum.LessThan(least) {
			sum = sum.Add(step)
		}
	}
	smallest := decimal.New(1, -money.Decimals(currency))
	return halfEven(sum, smallest.Mul(sixty)).Mul(smallest), true
}

// halfEven returns amount ÷ unit as a whole number, rounded half to even. The
// unit is above 0.
func halfEven(amount, unit decimal.Decimal) decimal.Decimal {
	quotient, rest := amount.QuoRem(unit, 0)
	twice := rest.Add(rest)
	odd := quotient.BigInt().Bit(0) == 1
	if c := twice.Abs().Cmp(unit); c > 0 || c == 0 && odd {
		quotient = quotient.Add(decimal.NewFromBigInt(big.NewInt(int64(amount.Sign())), 0))
	}
	return quotient
}
