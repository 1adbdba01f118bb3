package email

import (
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	for _, same := range [][]string{
		{"rider1@metro.example", " Rider1@Metro.Example\t"},
		{"straße@metro.example", "STRASSE@METRO.EXAMPLE"},
		{"é@metro.example", "E\u0301@metro.example"},
	} {
		for _, one := range same[1:] {
			if Fold(same[0]) != Fold(one) {
				t.Errorf("%q and %q differ: %q, %q", same[0], one, Fold(same[0]), Fold(one))
			}
		}
	}
}

func TestValid(t *testing.T) {
	for address, want := range map[string]bool{
		"rider1@metro.example": true, "a+b#c@metro.example": true, "ü@metro.example": true, "": false,
		"@metro.example": false, "rider1": false,
		"rider1@": false, "a@b@c": false, "a b@metro.example": false, "a@.example": false,
		"user@sub..example": false, "a@metro.example.": false, "a@metro": true, "a\x00@metro.example": false,
		strings.Repeat("a", 300) + "@metro.example": false,
	} {
		if Valid(address) != want {
			t.Errorf("%q: want %v", address, want)
		}
	}
}

// TestFault: an address with what stood around it is refused with the reason, and one that
// is an address is not.
func TestFault(t *testing.T) {
	for address, want := range map[string]string{
		"mailto:a@metro.example": "mailto", "MAILTO:a@metro.example": "mailto", "a@metro.example>": "<",
		"<a@metro.example>": "<", "Ann <a@metro.example>": "<", "a@metro.example, b@metro.example": "several",
		"a@metro.example;": "expected", "a@metro.example,": "expected", "a@metro.example?subject=x": "expected",
		"(a@metro.example)": "expected", `"a@metro.example"`: "expected", "a": "expected", "tel:a@metro.example": "expected",
		"rider1@metro.example": "", " rider1@metro.example ": "", "a+b#c_d@metro-x.example": "", "ü@öz.example": "",
		"o'neil@x.y": "",
	} {
		got := Fault(address)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
