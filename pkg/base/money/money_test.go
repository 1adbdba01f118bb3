package money_test

import (
	"encoding/json"
	"testing"

	"github.com/shopspring/decimal"

	"svc/pkg/base/money"
)

func TestNumberWritesOneForm(t *testing.T) {
	for in, want := range map[string]string{"1.10": "1.1", "-0": "0", "-0.00": "0", "1e3": "1000", "1E-2": "0.01",
		"12": "12", "-3.50": "-3.5", "0.000": "0"} {
		d, err := money.Parse(json.Number(in))
		if err != nil || string(money.Number(d)) != want {
			t.Errorf("%s: %s %v, want %s", in, money.Number(d), err, want)
		}
	}
}

func TestParseIsBounded(t *testing.T) {
	for _, in := range []string{"", "x", "1e999", "1e-999", "1.2.3", "NaN", "Inf", "0x1f", string(make([]byte, 65))} {
		if d, err := money.Parse(json.Number(in)); err == nil {
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
	} {
		if _, err := money.Accept(json.Number(c.in), c.currency); (err == nil) != c.ok {
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
