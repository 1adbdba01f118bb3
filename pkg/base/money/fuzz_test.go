package money_test

import (
	"encoding/json"
	"strings"
	"testing"

	"svc/pkg/base/money"
)

// FuzzAccept: an accepted amount is in range and has no more decimals than the
// currency. Its JSON number parses to the same amount.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"20.10", "-0", "1e12", "1e-60", "1E+30", "0x10", "1e999999999",
		"12345678901234567890.123456789", "Infinity", ".5", "1_0"} {
		f.Add(seed, "USD")
	}
	f.Fuzz(func(t *testing.T, text, currency string) {
		d, err := money.Accept(text, currency)
		if err != nil {
			return
		}
		n := money.Of(d)
		back, err := money.Parse(n)
		if err != nil || !back.Equal(d) || !json.Valid([]byte(n)) || strings.ContainsAny(string(n), "eE") {
			t.Errorf("%q is written %q and read as %v, %v", text, n, back, err)
		}
		if _, decimals, _ := strings.Cut(string(n), "."); d.IsNegative() || d.GreaterThan(money.Max) ||
			len(decimals) > int(money.Decimals(currency)) {
			t.Errorf("%q in %q is read as %s", text, currency, n)
		}
	})
}
