package money

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
)

// A plain number equals the result of exact arithmetic.
func FuzzPlain(f *testing.F) {
	for _, seed := range []string{"0", "-0", "0.0", "-0.5", "40.7484", "40.74840", "89.999999999999999999999999999999",
		"1.1234567891",
		"90", "-90", "90.1", "007", "1e1", "1.", ".5", "-", "", "1-", "1.2.3", "179.9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !plain(text, 90) {
			return
		}
		d, err := Parse(text)
		if err != nil || d.Abs().GreaterThan(decimal.NewFromInt(90)) || string(Of(d)) != text {
			t.Errorf("%q is not plain: %v, %v", text, d, err)
		}
	})
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]bool{"0": true, "-0.5": true, "40.7484": true, "-73.9857": true, "-0": false,
		"40.70": false, "90": false, "1e1": false, "00": false, "1.123456789": true, "1.1234567891": false} {
		if got := plain(text, 90); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// Any double in range is accepted, in each form in which programs write it, and
// is rounded half-even to nine decimals.
func TestWithin(t *testing.T) {
	exact := strconv.FormatFloat(5e-324, 'f', 1074, 64)
	for text, want := range map[string]string{"40.71234567890123": "40.712345679", "-73.98567": "-73.98567",
		"1.0000000005": "1", "1.0000000015": "1.000000002", "-1.0000000025": "-1.000000002", "5e-324": "0", "-5e-324": "0",
		exact: "0", "1e-10": "0", "90": "90", "-90.000": "-90", "9E+1": "90", "89.99999999999999": "90"} {
		n := json.Number(text)
		if !Within(&n, 90) || string(n) != want {
			t.Errorf("%s: %s, want %s", text, n, want)
		}
	}
	for _, text := range []string{"90.0000000001", "-91", "1e31", "1e999999999", "1e-999999999", "x", "",
		"0." + strings.Repeat("1", 2000)} {
		if n := json.Number(text); Within(&n, 90) || string(n) != text {
			t.Errorf("%s is accepted as %s", text, n)
		}
	}
	for range 1000 {
		f := (rand.Float64() - 0.5) * 360
		n := json.Number(strconv.FormatFloat(f, 'g', -1, 64))
		if !Within(&n, 180) || strings.HasSuffix(string(n), "0") && strings.Contains(string(n), ".") {
			t.Errorf("%v is stored as %s", f, n)
		}
		if back, err := n.Float64(); err != nil || back-f > 6e-10 || f-back > 6e-10 {
			t.Errorf("%v is stored as %s", f, n)
		}
	}
}
