package receipt_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"svc/pkg/base/money"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

func ptr[T any](v T) *T { return &v }

func TestEntriesOf(t *testing.T) {
	type entries struct{ Commission, Driver, Rider string }
	tests := []struct {
		name, payment, currency, fare, rate string // "-" is none
		want                                entries
	}{
		{"cash", "CASH", "USD", "20", "0.15", entries{"3", "-3", "-"}},
		{"card", "CARD", "USD", "20", "0.15", entries{"3", "17", "-"}},
		{"wallet", "WALLET", "USD", "20", "0.15", entries{"3", "17", "-20"}},
		{"no payment type is cash", "", "USD", "20", "0.15", entries{"3", "-3", "-"}},
		{"half to even, down", "CARD", "USD", "0.5", "0.25", entries{"0.12", "0.38", "-"}},
		{"half to even, up", "CARD", "USD", "0.7", "0.25", entries{"0.18", "0.52", "-"}},
		{"half to even, of a cash fare", "CASH", "EUR", "10.5", "0.01", entries{"0.1", "-0.1", "-"}},
		{"a currency without decimals", "CARD", "JPY", "1050", "0.15", entries{"158", "892", "-"}},
		{"a currency without decimals, even", "CARD", "JPY", "1010", "0.15", entries{"152", "858", "-"}},
		{"a currency of three decimals", "WALLET", "KWD", "1.111", "0.5", entries{"0.556", "0.555", "-1.111"}},
		{"no binary fractions", "CARD", "USD", "0.3", "0.1", entries{"0.03", "0.27", "-"}},
		{"no snapshot, cash", "CASH", "USD", "20", "-", entries{"-", "0", "-"}},
		{"no snapshot, card", "CARD", "USD", "20", "-", entries{"-", "0", "-"}},
		{"no snapshot, wallet", "WALLET", "USD", "20", "-", entries{"-", "0", "-20"}},
		{"no fare", "WALLET", "USD", "-", "0.15", entries{"-", "0", "-"}},
		{"a fare of nothing", "WALLET", "USD", "0", "0.15", entries{"0", "0", "0"}},
		{"rate 0", "CASH", "USD", "20", "0", entries{"0", "0", "-"}},
		{"rate 1", "CARD", "USD", "20", "1", entries{"20", "0", "-"}},
		{"a large fare", "CARD", "USD", "999999999999.99", "0.2", entries{"200000000000", "799999999999.99", "-"}},
	}
	number := func(s string) *money.Amount {
		if s == "-" {
			return nil
		}
		return ptr(money.Amount(s))
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := receipt.EntriesOf(trip.Trip{ID: "trp", DriverID: ptr("drv"), PaymentType: tt.payment,
				Currency:  tt.currency,
				FinalFare: number(tt.fare), CommissionRate: number(tt.rate)})
			if err != nil {
				t.Fatal(err)
			}
			texts := entries{"-", "-", "-"}
			if got.Commission != nil {
				texts.Commission = string(money.Of(*got.Commission))
			}
			if got.Driver != nil {
				texts.Driver = string(money.Of(*got.Driver))
			}
			if got.Rider != nil {
				texts.Rider = string(money.Of(*got.Rider))
			}
			if diff := cmp.Diff(tt.want, texts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEntriesOfOddTrips(t *testing.T) {
	if _, err := receipt.EntriesOf(trip.Trip{DriverID: ptr("drv"), PaymentType: "BARTER",
		FinalFare: ptr(money.Amount("1")), CommissionRate: ptr(money.Amount("0.1"))}); err == nil {
		t.Error("an unknown payment type is accepted")
	}
	if got, err := receipt.EntriesOf(trip.Trip{PaymentType: "CARD",
		FinalFare: ptr(money.Amount("1"))}); err != nil || got.Driver != nil {
		t.Errorf("a trip without a driver: %v, %v", got, err)
	}
}

// The description of a driver's entry explains its amount, even if the amount
// is 0.
func TestDescriptionOfATripWithoutServiceType(t *testing.T) {
	for want, tr := range map[string]trip.Trip{
		"Trip X: nothing to settle, because the trip has no service type": {PaymentType: "CASH",
			FinalFare: ptr(money.Amount("20"))},
		"Trip X: no fare":                   {PaymentType: "CASH", CommissionRate: ptr(money.Amount("0.1"))},
		"Trip X: commission on a cash fare": {FinalFare: ptr(money.Amount("20")), CommissionRate: ptr(money.Amount("0"))},
		"Trip X: fare less commission": {PaymentType: "CARD", FinalFare: ptr(money.Amount("20")),
			CommissionRate: ptr(money.Amount("0.1"))},
	} {
		tr.TripCode = "X"
		if got := receipt.PostingOf(tr, wallet.Driver, decimal.Zero, "").Description; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	noService := trip.Trip{TripCode: "X", PaymentType: "WALLET", FinalFare: ptr(money.Amount("20"))}
	if got := receipt.PostingOf(noService, wallet.Customer, decimal.Zero, "").Description; got != "Trip X: fare" {
		t.Errorf("the rider's: %q", got)
	}
}
