package money

import (
	"strings"

	"github.com/shopspring/decimal"
)

// withinDecimals is the number of decimals to which Within rounds. The ninth decimal of a
// degree is about a tenth of a millimetre on the ground.
const withinDecimals = 9

// Within reports whether *n is a number from -bound to bound, such as a
// coordinate. If so, it rounds *n half-even to nine decimals and writes it in the
// form of Of. Therefore equal coordinates are equal texts.
func Within[T ~string](n *T, bound int64) bool {
	if plain(string(*n), bound) {
		return true
	}
	d, err := Parse(*n)
	if err != nil || d.Abs().GreaterThan(decimal.NewFromInt(bound)) {
		return false
	}
	*n = T(Of(d.RoundBank(withinDecimals)))
	return true
}

// plain reports whether a number is within ±limit, has at most nine decimals and
// is already in the form of Of. Such a number needs no decimal arithmetic.
// For ±limit itself plain reports false.
func plain(number string, limit int64) bool {
	text, negative := strings.CutPrefix(number, "-")
	whole, decimals, fraction := strings.Cut(text, ".")
	if len(whole) < 1 || len(whole) > 3 || len(whole) > 1 && whole[0] == '0' || fraction &&
		(decimals == "" || len(decimals) > withinDecimals || decimals[len(decimals)-1] == '0') {
		return false
	}
	degrees := int64(0)
	for i := range len(whole) {
		if whole[i] < '0' || whole[i] > '9' {
			return false
		}
		degrees = degrees*10 + int64(whole[i]-'0')
	}
	for i := range len(decimals) {
		if decimals[i] < '0' || decimals[i] > '9' {
			return false
		}
	}
	return degrees < limit && (degrees > 0 || fraction || !negative)
}
