package money

import (
	"cmp"
	_ "embed"
	"encoding/json"
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
func DefaultMaxFare(code string) json.Number {
	if c, known := currencies()[code]; known {
		return Number(decimal.NewFromInt(c.fare))
	}
	return Number(Max)
}

// MaxFare returns a tenant's largest fare: its own, or DefaultMaxFare if that is "".
func MaxFare(own json.Number, code string) json.Number { return cmp.Or(own, DefaultMaxFare(code)) }

// DefaultMaxPosting returns the largest posting to a wallet of a tenant that has
// set none: about 10,000 US dollars.
func DefaultMaxPosting(code string) json.Number {
	return Number(decimal.Min(Must(DefaultMaxFare(code)).Mul(decimal.NewFromInt(5)), Max))
}
