package money

import (
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"
)

// decimals lists the currencies that do not have two decimals (ISO 4217). It
// does not list CLF and UYW, which have four: Decimals returns 2 for them.
var decimals = map[string]int32{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0, "UYI": 0,
	"VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0, "BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
}

// Decimals returns the number of decimals of a currency (ISO 4217). It is 2 for
// a currency that decimals does not list.
func Decimals(currency string) int32 {
	if n, ok := decimals[currency]; ok {
		return n
	}
	return 2
}

// Max is the largest amount accepted from a caller, in currency units.
var Max = decimal.New(1, 12)

// Parse reads an amount exactly. It returns an error for a text that is not a
// number, for more than 64 characters, and for an exponent above 30 or below
// -60.
func Parse(n json.Number) (decimal.Decimal, error) {
	if len(n) > 64 {
		return decimal.Zero, fmt.Errorf("amount has %d characters, expected at most 64", len(n))
	}
	d, err := decimal.NewFromString(string(n))
	if err != nil {
		return decimal.Zero, fmt.Errorf("amount: %w", err)
	}
	if e := d.Exponent(); e > 30 || e < -60 {
		return decimal.Zero, fmt.Errorf("amount has the exponent %d, expected -60 to 30", e)
	}
	return d, nil
}

// Must reads an amount that this service wrote. It panics if n is not an amount.
func Must(n json.Number) decimal.Decimal {
	d, err := Parse(n)
	if err != nil {
		panic(err)
	}
	return d
}

// Number formats an amount: no exponent, no zeros at the end of a fraction, no
// minus zero.
func Number(d decimal.Decimal) json.Number {
	if d.IsZero() {
		return "0"
	}
	return json.Number(d.String())
}

// Ptr is Number for a field that may be null.
func Ptr(d decimal.Decimal) *json.Number {
	n := Number(d)
	return &n
}

// Within reports whether *n is a number from -bound to bound. If so, it writes
// *n in the form of Number.
func Within(n *json.Number, bound int64) bool {
	d, err := Parse(*n)
	if err != nil || d.Abs().GreaterThan(decimal.NewFromInt(bound)) {
		return false
	}
	*n = Number(d)
	return true
}

// Accept reads an amount from a caller. The amount must be from 0 to Max and
// have no more decimals than the currency. The text of an error is safe to show.
func Accept(n json.Number, currency string) (decimal.Decimal, error) {
	d, err := Parse(n)
	switch {
	case err != nil:
		return decimal.Zero, fmt.Errorf("expected a number")
	case d.IsNegative():
		return decimal.Zero, fmt.Errorf("expected a number that is not negative")
	case d.GreaterThan(Max):
		return decimal.Zero, fmt.Errorf("expected at most %s", Max)
	case !d.Equal(d.Truncate(Decimals(currency))):
		return decimal.Zero, fmt.Errorf("expected at most %d decimals (%s)", Decimals(currency), currency)
	}
	return d, nil
}

// Commission returns fare × rate, rounded half-even to the currency's
// decimals.
func Commission(fare, rate decimal.Decimal, currency string) decimal.Decimal {
	return fare.Mul(rate).RoundBank(Decimals(currency))
}
