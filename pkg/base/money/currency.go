package money

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/shopspring/decimal"
)

// list has one currency on a line: its code (ISO 4217), its decimals, and about
// 2,000 US dollars in it. The first line says of which day the list is.
//
//go:embed currencies.txt
var list string

type currency struct {
	decimals int32
	fare     int64
}

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
// A code without decimals, such as gold's, is not one.
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

// DefaultMaxFare returns the largest fare of a tenant that has set none: about
// 2,000 US dollars. It is Max for a currency that is no longer in use.
func DefaultMaxFare(code string) Amount {
	if c, known := currencies()[code]; known {
		return Of(decimal.NewFromInt(c.fare))
	}
	return Of(Max)
}

// MaxFare returns a tenant's largest fare: its own, or DefaultMaxFare if that is "".
func MaxFare(own Amount, code string) Amount { return cmp.Or(own, DefaultMaxFare(code)) }

// MaxPosting returns a tenant's largest posting to a wallet: its own, or about 10,000 US
// dollars if that is "".
func MaxPosting(own Amount, code string) Amount {
	return cmp.Or(own, Of(decimal.Min(DefaultMaxFare(code).Decimal().Mul(decimal.NewFromInt(5)), Max)))
}
