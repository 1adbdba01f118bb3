package money

import (
	"bytes"
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// Amount is an exact number: an amount, or a rate or measure that gives one. It holds its
// JSON text, so an answer has the text that is stored, such as 20.10. "" is 0.
//
// JSON gives an Amount only a number that is in range: a document with any other number
// cannot be decoded. A conversion checks nothing: what it makes of a text must first pass
// Accept or Parse.
type Amount string

// Of writes a number as an amount: no exponent, no zeros at the end of a fraction, no
// minus zero.
func Of(d decimal.Decimal) Amount {
	if d.IsZero() {
		return "0"
	}
	return Amount(d.String())
}

// Ptr is Of for a field that may be null.
func Ptr(d decimal.Decimal) *Amount { return new(Of(d)) }

// Decimal returns the number, to compute with. It panics if a conversion made the amount of
// a text that is no number.
func (a Amount) Decimal() decimal.Decimal {
	if a == "" {
		return decimal.Zero
	}
	return decimal.RequireFromString(string(a))
}

// MarshalJSON writes the text.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(cmp.Or(a, "0")), nil }

// UnmarshalJSON reads a number that is in range. null changes nothing.
func (a *Amount) UnmarshalJSON(text []byte) error {
	switch {
	case bytes.Equal(text, []byte("null")):
		return nil
	case text[0] != '-' && (text[0] < '0' || text[0] > '9'):
		return errors.New("expected a number")
	case !InRange(string(text)):
		return errors.New("expected a number in range")
	}
	*a = Amount(text)
	return nil
}

// InRange reports whether a number has at most 1,100 characters, and no exponent below
// -1100 or above 1100. So every double is in range, with all its decimals.
func InRange[T ~string](number T) bool {
	if len(number) > 1100 {
		return false
	}
	at := strings.IndexAny(string(number), "eE")
	if at < 0 {
		return true
	}
	exponent, err := strconv.Atoi(string(number[at+1:]))
	return err == nil && exponent >= -1100 && exponent <= 1100
}
