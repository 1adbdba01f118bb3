package trip

import (
	"encoding/json"
	"testing"

	"github.com/shopspring/decimal"

	"svc/pkg/base/money"
)

// A plain number equals the result of exact arithmetic.
func FuzzPlain(f *testing.F) {
	for _, seed := range []string{"0", "-0", "0.0", "-0.5", "40.7484", "40.74840", "89.999999999999999999999999999999",
		"90", "-90", "90.1", "007", "1e1", "1.", ".5", "-", "", "1-", "1.2.3", "179.9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := json.Number(text)
		if !plain(n, 90) {
			return
		}
		d, err := money.Parse(n)
		if err != nil || d.Abs().GreaterThan(decimal.NewFromInt(90)) || money.Number(d) != n {
			t.Errorf("%q is not plain: %v, %v", text, d, err)
		}
	})
}

func TestPlain(t *testing.T) {
	for text, want := range map[json.Number]bool{"0": true, "-0.5": true, "40.7484": true, "-73.9857": true, "-0": false,
		"40.70": false, "90": false, "1e1": false, "00": false} {
		if got := plain(text, 90); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
