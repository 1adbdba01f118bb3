package fare_test

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/shopspring/decimal"

	"svc/pkg/base/money"
	"svc/pkg/domain/fare"
)

func number(text string) *decimal.Decimal {
	d := decimal.RequireFromString(text)
	return &d
}

func TestOf(t *testing.T) {
	taxi := fare.Prices{Base: "3", PerKm: "1.2", PerMin: "0.3", Minimum: "5"}
	waits := fare.Prices{Base: "3", Waiting: "0.6", Free: 5}
	for name, tt := range map[string]struct {
		prices   fare.Prices
		m        fare.Measures
		currency string
		want     string // "" if it cannot be known
	}{
		"distance and time":        {taxi, fare.Measures{Kilometres: number("6.4"), Seconds: number("1200")}, "USD", "16.68"},
		"the least fare":           {taxi, fare.Measures{Kilometres: number("0.1"), Seconds: number("60")}, "USD", "5"},
		"nothing measured":         {taxi, fare.Measures{}, "USD", ""},
		"no distance":              {taxi, fare.Measures{Seconds: number("60")}, "USD", ""},
		"no time":                  {taxi, fare.Measures{Kilometres: number("1")}, "USD", ""},
		"a flat fare":              {fare.Prices{Base: "12.5"}, fare.Measures{}, "USD", "12.5"},
		"only a least fare":        {fare.Prices{Minimum: "7"}, fare.Measures{}, "USD", "7"},
		"waiting, free":            {waits, fare.Measures{Waiting: *number("300")}, "USD", "3"},
		"waiting, after that":      {waits, fare.Measures{Waiting: *number("390")}, "USD", "3.9"},
		"half a cent, to even":     {fare.Prices{Base: "0.125"}, fare.Measures{}, "USD", "0.12"},
		"half a cent, to even too": {fare.Prices{Base: "0.135"}, fare.Measures{}, "USD", "0.14"},
		"a third of a minute":      {fare.Prices{PerMin: "0.1"}, fare.Measures{Seconds: number("20")}, "USD", "0.03"},
		"no decimals":              {fare.Prices{Base: "1000.5"}, fare.Measures{}, "JPY", "1000"},
		"three decimals":           {fare.Prices{Base: "1.0005"}, fare.Measures{}, "KWD", "1"},
		"to halves":                {fare.Prices{Base: "7.26", Step: "0.5"}, fare.Measures{}, "USD", "7.5"},
		"to halves, half":          {fare.Prices{Base: "7.25", Step: "0.5"}, fare.Measures{}, "USD", "7"},
		"to a step that is finer":  {fare.Prices{Base: "7.255", Step: "0.001"}, fare.Measures{}, "USD", "7.26"},
		"least fare, rounded up":   {fare.Prices{Minimum: "6.53", Step: "0.25"}, fare.Measures{}, "USD", "6.75"},
		"least fare, half, up":     {fare.Prices{Minimum: "7.25", Step: "0.5"}, fare.Measures{}, "USD", "7.5"},
		"above the least fare, up": {fare.Prices{Base: "6.6", Minimum: "6.53", Step: "0.25"}, fare.Measures{}, "USD", "6.75"},
		"least fare, no coins":     {fare.Prices{Base: "900", Minimum: "1020", Step: "100"}, fare.Measures{}, "JPY", "1100"},
	} {
		got, ok := tt.prices.Of(tt.m, tt.currency)
		if text := money.Of(got); ok != (tt.want != "") || ok && string(text) != tt.want {
			t.Errorf("%s: %s, %t; want %q", name, text, ok, tt.want)
		}
	}
}

// The stored form gives the prices back; without a price there is none.
func TestSnapshot(t *testing.T) {
	for stored, p := range map[fare.Snapshot]fare.Prices{
		"3|1.2|0.3|5|0.45|5|0.05": {Base: "3", PerKm: "1.2", PerMin: "0.3", Minimum: "5", Waiting: "0.45", Free: 5,
			Step: "0.05"},
		"|||7|||": {Minimum: "7"},
		"":        {Waiting: "1", Free: 3, Step: "0.5"},
	} {
		if got := p.Snapshot(); got != stored {
			t.Errorf("%+v is stored as %q, want %q", p, got, stored)
		}
		if got, ok := stored.Prices(); ok != (stored != "") || ok && got != p {
			t.Errorf("%q: %+v, %t", stored, got, ok)
		}
	}
	for _, bad := range []fare.Snapshot{"3", "||||||||", "3||||x||"} {
		if p, ok := bad.Prices(); ok {
			if _, ok = p.Of(fare.Measures{}, "USD"); ok {
				t.Errorf("%q gives %+v", bad, p)
			}
		}
	}
}

// Random prices and measures agree with rational arithmetic: the fare is the
// nearest multiple, never below the rounded minimum, and grows with the ride.
func TestOfIsExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	price := func() money.Amount {
		return money.Amount(strconv.FormatFloat(float64(rnd.IntN(5000))/1000, 'f', 3, 64))
	}
	for range 5000 {
		p := fare.Prices{Base: price(), PerKm: price(), PerMin: price(), Minimum: price(), Waiting: price(),
			Free: rnd.IntN(9)}
		km, s := decimal.New(rnd.Int64N(100000), -3), decimal.NewFromInt(rnd.Int64N(7200))
		m := fare.Measures{Kilometres: &km, Seconds: &s, Waiting: decimal.NewFromInt(rnd.Int64N(900))}
		got, ok := p.Of(m, "USD")
		if !ok {
			t.Fatalf("%+v of %+v is not known", p, m)
		}
		want := exact(p, m)
		if distance := new(big.Rat).Abs(new(big.Rat).Sub(got.Rat(), want)); distance.Cmp(big.NewRat(1, 200)) > 0 {
			t.Errorf("%+v of %+v: %s, exactly %s", p, m, got, want.FloatString(6))
		}
		longer := km.Add(decimal.NewFromInt(1))
		m.Kilometres = &longer
		if more, _ := p.Of(m, "USD"); more.LessThan(got) {
			t.Errorf("%+v: a longer ride costs %s instead of %s", p, more, got)
		}
	}
}

func exact(p fare.Prices, m fare.Measures) *big.Rat {
	of := func(n money.Amount) *big.Rat { r, _ := new(big.Rat).SetString(string(n)); return r }
	minutes := func(d decimal.Decimal) *big.Rat { return new(big.Rat).Quo(d.Rat(), big.NewRat(60, 1)) }
	sum := new(big.Rat).Add(of(p.Base), new(big.Rat).Mul(of(p.PerKm), m.Kilometres.Rat()))
	sum.Add(sum, new(big.Rat).Mul(of(p.PerMin), minutes(*m.Seconds)))
	if waited := new(big.Rat).Sub(minutes(m.Waiting), big.NewRat(int64(p.Free), 1)); waited.Sign() > 0 {
		sum.Add(sum, waited.Mul(waited, of(p.Waiting)))
	}
	if least := of(p.Minimum); sum.Cmp(least) < 0 {
		return least
	}
	return sum
}
