package money

import (
	"errors"
	"fmt"

	"github.com/shopspring/decimal"
)

// Max is the largest amount accepted from a caller, in currency units.
var Max = decimal.New(1, 12)

// Parse reads a number exactly. It returns an error for a text that is not a
// number, and for one that is not in range.
func Parse[T ~string](n T) (decimal.Decimal, error) {
	if !InRange(n) {
		return decimal.Zero, errors.New("amount is out of range")
	}
	d, err := decimal.NewFromString(string(n))
	if err != nil {
		return decimal.Zero, fmt.Errorf("amount: %w", err)
	}
	return d, nil
}

// tolerance bounds the difference between a caller's amount and the same amount
// rounded to the currency's decimals, exclusively. A program that computes in
// binary floats sends 12.440000000000001 for 12.44.
var tolerance = decimal.New(5, -7)

// Accept reads an amount from a caller. The amount must be from 0 to Max. It is
// rounded to the decimals of the currency, and must differ from the rounded
// amount by less than tolerance. The text of an error is safe to show.
func Accept[T ~string](n T, currency string) (decimal.Decimal, error) {
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
