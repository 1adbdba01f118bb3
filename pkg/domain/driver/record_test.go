package driver_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/base/money"
	"svc/pkg/domain/driver"
)

// fill sets every field to a distinct value.
func fill(v reflect.Value, next *int) {
	for i := range v.NumField() {
		f := v.Field(i)
		*next++
		text := string(rune('a' + *next%26))
		switch f.Interface().(type) {
		case driver.Driver:
			fill(f, next)
		case string:
			f.SetString(text + "\"")
		case *string:
			f.Set(reflect.ValueOf(&text))
		case *json.Number:
			f.Set(reflect.ValueOf(new(json.Number("-1.0" + string(rune('0'+*next%10))))))
		case *money.Amount:
			f.Set(reflect.ValueOf(new(money.Amount("1.0" + string(rune('0'+*next%10))))))
		case int64:
			f.SetInt(int64(*next))
		case bool:
			f.SetBool(true)
		}
	}
}

// A driver reads back with every field that was written.
func TestEveryFieldIsRead(t *testing.T) {
	db := testkit.Table(t)
	tn := db.Tenant("ten_01JT7M4C6Q8V2N5X9B3D1F7H0K")
	var full driver.Record
	n := 0
	fill(reflect.ValueOf(&full).Elem(), &n)
	mean := money.Amount("4.5")
	full.RatingSum, full.RatingCount, full.Rating = 9, 2, &mean
	for name, want := range map[string]driver.Record{"everything": full,
		"nothing": {Driver: driver.Driver{ID: "x", Status: driver.Offline}}} {
		if err := tn.Load(t.Context(), driver.Item(tn, want, 1)); err != nil {
			t.Fatal(err)
		}
		it, err := tn.Get(t.Context(), driver.Key(tn, want.ID))
		if err != nil {
			t.Fatal(err)
		}
		got, err := driver.FromItem(it)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The stored numbers have one form. The caller's own numbers stay as they were.
func TestCallersNumbersStay(t *testing.T) {
	tn := testkit.Table(t).Tenant("ten_01JT7M4C6Q8V2N5X9B3D1F7H0K")
	lat, lng, rating := json.Number("40.7100"), json.Number("-74.0"), money.Amount("4.50")
	r, err := driver.Create(t.Context(), tn, by(0), driver.Record{Driver: driver.Driver{FirstName: "Maya",
		Email: "maya@metro.example", Status: driver.Online, CurrentLat: &lat, CurrentLng: &lng, Rating: &rating}}, "hash")
	if err != nil {
		t.Fatal(err)
	}
	if *r.CurrentLat != "40.71" || *r.CurrentLng != "-74" || *r.Rating != "4.5" {
		t.Errorf("stored: %s, %s, %s", *r.CurrentLat, *r.CurrentLng, *r.Rating)
	}
	if lat != "40.7100" || lng != "-74.0" || rating != "4.50" {
		t.Errorf("the caller's numbers became %s, %s, %s", lat, lng, rating)
	}
}
