package fare

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"svc/pkg/base/money"
)

// Prices has the prices of a ride's service type, and the tenant's rules for waiting
// and rounding. Amounts are in units of the currency.
// An empty number is 0.
type Prices struct {
	Base    json.Number // start of every fare
	PerKm   json.Number
	PerMin  json.Number // of the ride
	Minimum json.Number // the least fare
	Waiting json.Number // per minute of waiting, after the free ones
	Free    int         // minutes of waiting that are free
	Step    json.Number // fares are rounded to a multiple of it; 0: to the currency's decimals
}

// Snapshot is the stored form of Prices: their numbers, separated by bars, empty
// for 0. It is short, because every trip with a service type has one. "" means
// that there are no prices.
type Snapshot string

// Snapshot returns the stored form, "" if every ride would be free.
func (p Prices) Snapshot() Snapshot {
	if zero(p.Base) && zero(p.PerKm) && zero(p.PerMin) && zero(p.Minimum) {
		return ""
	}
	parts := []json.Number{p.Base, p.PerKm, p.PerMin, p.Minimum, p.Waiting, json.Number(strconv.Itoa(p.Free)), p.Step}
	texts := make([]string, len(parts))
	for i, part := range parts {
		if !zero(part) {
			texts[i] = string(part)
		}
	}
	return Snapshot(strings.Join(texts, "|"))
}

// Prices decodes the stored form. ok is false if there are no prices.
func (s Snapshot) Prices() (p Prices, ok bool) {
	parts := strings.Split(string(s), "|")
	if len(parts) != 7 {
		return p, false
	}
	free, err := strconv.Atoi(cmp.Or(parts[5], "0"))
	n := func(i int) json.Number { return json.Number(parts[i]) }
	return Prices{n(0), n(1), n(2), n(3), n(4), free, n(6)}, err == nil
}

// Measures has the measured or estimated distance and times of a ride.
type Measures struct {
	Kilometres *decimal.Decimal // nil if not known
	Seconds    *decimal.Decimal // of the ride; nil if not known
	Waiting    decimal.Decimal  // seconds from the driver's arrival to the start
}

func zero(n json.Number) bool { return n == "" || n == "0" }

// Of returns the fare in the currency:
//
//	base + perKm × kilometres + perMinute × minutes + waiting × (minutes waited − free minutes)
//
// but at least the minimum. The fare is rounded once, at the end, half to even:
// to a multiple of the step, up if it would fall below the minimum, and then to the
// currency's decimals. ok is false if the prices need a measure that is not known, or
// if a price is not a number.
func (p Prices) Of(m Measures, currency string) (fare decimal.Decimal, ok bool) {
	if !zero(p.PerKm) && m.Kilometres == nil || !zero(p.PerMin) && m.Seconds == nil {
		return fare, false
	}
	prices, err := p.parsed()
	if err != nil {
		return fare, false
	}
	// The sum is kept times 60, so that no division loses a digit.
	sixty := decimal.NewFromInt(60)
	sum := prices.base
	if m.Kilometres != nil {
		sum = sum.Add(prices.perKm.Mul(*m.Kilometres))
	}
	sum = sum.Mul(sixty)
	if m.Seconds != nil {
		sum = sum.Add(prices.perMin.Mul(*m.Seconds))
	}
	if waited := m.Waiting.Sub(decimal.NewFromInt(int64(p.Free) * 60)); waited.IsPositive() {
		sum = sum.Add(prices.waiting.Mul(waited))
	}
	least := prices.minimum.Mul(sixty)
	sum = decimal.Max(sum, least)
	if step := prices.step.Mul(sixty); step.IsPositive() {
		if sum = halfEven(sum, step).Mul(step); sum.LessThan(least) {
			sum = sum.Add(step)
		}
	}
	smallest := decimal.New(1, -money.Decimals(currency))
	return halfEven(sum, smallest.Mul(sixty)).Mul(smallest), true
}

type parsed struct{ base, perKm, perMin, minimum, waiting, step decimal.Decimal }

func (p Prices) parsed() (out parsed, err error) {
	for _, one := range []struct {
		from json.Number
		to   *decimal.Decimal
	}{{p.Base, &out.base}, {p.PerKm, &out.perKm}, {p.PerMin, &out.perMin}, {p.Minimum, &out.minimum},
		{p.Waiting, &out.waiting}, {p.Step, &out.step}} {
		if one.from == "" {
			continue
		}
		if *one.to, err = money.Parse(one.from); err != nil {
			return out, err
		}
	}
	return out, nil
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
