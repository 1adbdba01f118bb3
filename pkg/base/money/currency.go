package money

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/shopspring/decimal"
)

// list has one currency per line: its code (ISO 4217), its number of decimals, and
// the amount that is worth about 2,000 US dollars. The first line has the dates of
// the list and of the prices.
//
//go:embed currencies.txt
var list string

// currency is one line of list. fare is the default largest fare, in currency units.
type currency struct {
	decimals int32
	fare     int64
}

// currencies returns the currencies of list by their codes.
var currencies = sync.OnceValue(func() map[string]currency {
	all := map[string]currency{}
	for line := range strings.Lines(list) {
		var code string
		var c currency
		if _, err := fmt.Sscan(line, &code, &c.decimals, &c.fare); err == nil { // the first line has no numbers
			all[code] = c
		}
	}
	return all
})

// IsCurrency reports whether text is the code of a currency in use (ISO 4217).
// A code for which ISO 4217 defines no number of decimals, such as gold's, is not one.
func IsCurrency(text string) bool {
	_, known := currencies()[text]
	return known
}

// Decimals returns the number of decimals of a currency (ISO 4217). It is 2 for
// a currency that is no longer in use: its tenants keep it, because amounts exist.
func Decimals(code string) int32 {
	if c, known := currencies()[code]; known {
		return c.decimals
	}
	return 2
}

// DefaultMaxFare returns the largest fare of a tenant that has set none: about 2,000 US
// dollars in the currency with the code. It is Max for a currency that is no longer in
// use.
func DefaultMaxFare(code string) Amount {
	if c, known := currencies()[code]; known {
		return Of(decimal.NewFromInt(c.fare))
	}
	return Of(Max)
}

// MaxFare returns a tenant's largest fare: own, which the tenant has set, or
// DefaultMaxFare of the currency if own is "".
func MaxFare(own Amount, code string) Amount { return cmp.Or(own, DefaultMaxFare(code)) }

// MaxPosting returns a tenant's largest posting to a wallet: own, which the tenant has
// set, or about 10,000 US dollars in the currency if own is "".
func MaxPosting(own Amount, code string) Amount {
	return cmp.Or(own, Of(decimal.Min(DefaultMaxFare(code).Decimal().Mul(decimal.NewFromInt(5)), Max)))
}
