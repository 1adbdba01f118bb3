package money

import (
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"
)

// Max is the largest amount accepted from a caller, in currency units.
var Max = decimal.New(1, 12)

// Parse reads a number exactly. It returns an error for a text that is not a
// number, for more than 1,100 characters, and for an exponent above 30 or below
// -1100. A double has at most 1,074 decimals, so every double up to 1e30 is read.
func Parse(n json.Number) (decimal.Decimal, error) {
	if len(n) > 1100 {
		return decimal.Zero, fmt.Errorf("amount has %d characters, expected at most 1,100", len(n))
	}
	d, err := decimal.NewFromString(string(n))
	if err != nil {
		return decimal.Zero, fmt.Errorf("amount: %w", err)
	}
	if e := d.Exponent(); e > 30 || e < -1100 {
		return decimal.Zero, fmt.Errorf("amount has the exponent %d, expected -1100 to 30", e)
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

// tolerance is the largest difference between a caller's amount and the amount
// that it stands for, exclusive. A program that computes in binary floats sends
// 12.440000000000001 for 12.44.
var tolerance = decimal.New(5, -7)

// Accept reads an amount from a caller. The amount must be from 0 to Max. It is
// rounded to the decimals of the currency, and must differ from the rounded
// amount by less than tolerance. The text of an error is safe to show.
func Accept(n json.Number, currency string) (decimal.Decimal, error) {
	d, err := Parse(n)
	if err != nil {
		return decimal.Zero, fmt.Errorf("expected a number")
	}
	rounded := d.RoundBank(Decimals(currency))
	switch {
	case d.IsNegative():
		return decimal.Zero, fmt.Errorf("expected a number that is not negative")
	case d.GreaterThan(Max):
		return decimal.Zero, fmt.Errorf("expected at most %s", Max)
	case d.Sub(rounded).Abs().GreaterThanOrEqual(tolerance):
		return decimal.Zero, fmt.Errorf("expected at most %d decimals (%s)", Decimals(currency), currency)
	}
	return rounded, nil
}

// Commission returns fare × rate, rounded half-even to the currency's
// decimals.
func Commission(fare, rate decimal.Decimal, currency string) decimal.Decimal {
	return fare.Mul(rate).RoundBank(Decimals(currency))
}
