package money_test

import (
	"testing"

	"github.com/shopspring/decimal"

	"svc/pkg/base/money"
)

func TestOfWritesOneForm(t *testing.T) {
	for in, want := range map[string]string{"1.10": "1.1", "-0": "0", "-0.00": "0", "1e3": "1000", "1E-2": "0.01",
		"12": "12", "-3.50": "-3.5", "0.000": "0"} {
		d, err := money.Parse(in)
		if err != nil || string(money.Of(d)) != want {
			t.Errorf("%s: %s %v, want %s", in, money.Of(d), err, want)
		}
	}
}

func TestParseIsBounded(t *testing.T) {
	for _, in := range []string{"", "x", "1e1101", "1e-1999", "1e", "1.2.3", "NaN", "Inf", "0x1f",
		string(make([]byte, 1101))} {
		if d, err := money.Parse(in); err == nil {
			t.Errorf("%q was read as %s", in, d)
		}
	}
}

func TestAccept(t *testing.T) {
	for _, c := range []struct {
		in, currency string
		ok           bool
	}{
		{"0", "USD", true}, {"12.34", "USD", true}, {"12.340", "USD", true}, {"1e2", "USD", true},
		{"1000000000000", "USD", true},
		{"-0", "USD", true}, {"-0.01", "USD", false}, {"12.345", "USD", false}, {"1000000000000.01", "USD", false},
		{"12", "JPY", true}, {"12.0", "JPY", true}, {"12.5", "JPY", false}, {"1.234", "KWD", true}, {"1.2345", "KWD", false},
		{"1.2345", "CLF", true}, {"1.23456", "CLF", false},
	} {
		if _, err := money.Accept(c.in, c.currency); (err == nil) != c.ok {
			t.Errorf("%s %s: %v", c.in, c.currency, err)
		}
	}
}

func TestCommissionRoundsHalfEven(t *testing.T) {
	for _, c := range []struct{ fare, rate, currency, want string }{
		{"10", "0.2", "USD", "2"}, {"0.25", "0.5", "USD", "0.12"}, {"0.35", "0.5", "USD", "0.18"},
		{"0.45", "0.5", "USD", "0.22"},
		{"1", "0.005", "USD", "0"}, {"3", "0.005", "USD", "0.02"}, {"5", "0.5", "JPY", "2"}, {"7", "0.5", "JPY", "4"},
		{"0.001", "0.5", "KWD", "0"}, {"0.003", "0.5", "KWD", "0.002"},
	} {
		got := money.Commission(decimal.RequireFromString(c.fare), decimal.RequireFromString(c.rate), c.currency)
		if got.String() != c.want {
			t.Errorf("%s × %s %s: %s, want %s", c.fare, c.rate, c.currency, got, c.want)
		}
	}
}

// An amount computed in binary floats stands for the amount of the currency that
// is next to it. Any other amount between two of the currency is refused.
func TestAcceptNearAmounts(t *testing.T) {
	for _, c := range []struct{ in, currency, want string }{
		{"12.440000000000001", "USD", "12.44"}, {"12.439999999999998", "USD", "12.44"}, {"5e-324", "USD", "0"},
		{"0.30000000000000004", "USD", "0.3"}, {"19.99999951", "USD", "20"}, {"100.00000000000001", "JPY", "100"},
		{"1.2340000004", "KWD", "1.234"},
		{"12.445", "USD", ""}, {"12.4400005", "USD", ""}, {"12.440001", "USD", ""}, {"100.5", "JPY", ""},
		{"-5e-324", "USD", ""}, {"1000000000000.0000001", "USD", ""},
	} {
		got, err := money.Accept(c.in, c.currency)
		if (err == nil) != (c.want != "") || err == nil && got.String() != c.want {
			t.Errorf("%s %s: %s, %v; want %q", c.in, c.currency, got, err, c.want)
		}
	}
}

// The list has the currencies in use, each with its decimals and the largest
// fare of a tenant that sets none.
func TestCurrencies(t *testing.T) {
	for code, want := range map[string]struct {
		decimals int32
		fare     money.Amount
	}{"USD": {2, "2000"}, "EUR": {2, "1800"}, "JPY": {0, "310000"}, "KWD": {3, "620"}, "CLF": {4, "48"},
		"UYW": {4, "46000"}, "VES": {2, ""}, "VED": {2, ""}, "MRU": {2, ""}, "SLE": {2, ""}, "ZWG": {2, ""},
		"XCG": {2, ""}, "CLP": {0, ""}} {
		if !money.IsCurrency(code) || money.Decimals(code) != want.decimals {
			t.Errorf("%s: %v, %d decimals", code, money.IsCurrency(code), money.Decimals(code))
		}
		if got := money.DefaultMaxFare(code); want.fare != "" && got != want.fare {
			t.Errorf("%s: the largest fare is %s, want %s", code, got, want.fare)
		}
	}
	for _, code := range []string{"HRK", "BGN", "ANG", "CUC", "ZWL", "XTS", "XAU", "XXX", "usd", "", "#", "US"} {
		if money.IsCurrency(code) {
			t.Errorf("%q is accepted", code)
		}
		if money.Decimals(code) != 2 || money.DefaultMaxFare(code) != money.Of(money.Max) {
			t.Errorf("%q: %d decimals, at most %s", code, money.Decimals(code), money.DefaultMaxFare(code))
		}
	}
}

// Every currency's largest fare is an amount of that currency.
func TestEveryDefaultMaxFare(t *testing.T) {
	known := 0
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			for c := 'A'; c <= 'Z'; c++ {
				code := string([]rune{a, b, c})
				if !money.IsCurrency(code) {
					continue
				}
				known++
				fare := money.DefaultMaxFare(code)
				if d, err := money.Accept(fare, code); err != nil || !d.IsPositive() || d.Equal(money.Max) {
					t.Errorf("%s: %s, %v", code, fare, err)
				}
			}
		}
	}
	if known < 160 {
		t.Errorf("%d currencies", known)
	}
}
