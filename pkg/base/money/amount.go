package money

import (
	"bytes"
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// Amount is an exact number: an amount of money, or a rate or measure from which one is
// computed. It holds the number's JSON text, so a response has the text that is stored,
// such as 20.10. "" is 0.
//
// Decoding JSON into an Amount fails for a number that is not in range (InRange). The
// conversion Amount(text) checks nothing: the text must first pass Accept or Parse.
type Amount string

// Of returns a number as an Amount: no exponent, no zeros at the end of a fraction, no
// minus zero.
func Of(d decimal.Decimal) Amount {
	if d.IsZero() {
		return "0"
	}
	return Amount(d.String())
}

// Ptr returns a pointer to Of(d), for a field that may be null.
func Ptr(d decimal.Decimal) *Amount { return new(Of(d)) }

// Decimal returns the number, to compute with. It panics if the amount was converted from
// a text that is not a number.
func (a Amount) Decimal() decimal.Decimal {
	if a == "" {
		return decimal.Zero
	}
	return decimal.RequireFromString(string(a))
}

// MarshalJSON writes the number's text, 0 for "".
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
