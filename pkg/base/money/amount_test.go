package money_test

import (
	"encoding/json"
	"strings"
	"testing"

	"svc/pkg/base/money"
)

// An amount keeps its text. It is decoded from every number in range, and from nothing
// else, so it always has a value.
func TestAmountInJSON(t *testing.T) {
	for _, text := range []string{"20.10", "-0", "1e3", "1E-2", "0", "1e1100", "9.9E+125", "5e-324",
		"0." + strings.Repeat("1", 1098)} {
		var a money.Amount
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if back, err := json.Marshal(a); err != nil || string(back) != text {
			t.Errorf("%s is written %s, %v", text, back, err)
		}
		if want, err := money.Parse(text); err != nil || !a.Decimal().Equal(want) {
			t.Errorf("%s: %s, want %s, %v", text, a.Decimal(), want, err)
		}
	}
	for _, text := range []string{`"1"`, "true", "[]", "{}", "1e1101", "1e-1101", "1e99999999999999999999",
		"0." + strings.Repeat("1", 1099)} {
		a := money.Amount("7")
		if err := json.Unmarshal([]byte(text), &a); err == nil || a != "7" {
			t.Errorf("%s is read as %s", text, a)
		}
	}
}

// Without a number an amount is 0, and null changes nothing.
func TestAmountWithoutNumber(t *testing.T) {
	none := struct{ A, B money.Amount }{B: "1"}
	if err := json.Unmarshal([]byte(`{"A":null,"B":null}`), &none); err != nil || none.A != "" || none.B != "1" {
		t.Errorf("%+v, %v", none, err)
	}
	if text, err := json.Marshal(none); err != nil || string(text) != `{"A":0,"B":1}` || !none.A.Decimal().IsZero() {
		t.Errorf("%s, %v", text, err)
	}
}
