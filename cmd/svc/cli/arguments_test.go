package cli

import "testing"

// TestArguments: the usage line of a command says how many arguments it takes.
func TestArguments(t *testing.T) {
	for use, want := range map[string][2]int{"version": {0, 0}, "add SLUG NAME": {2, 2},
		"set SLUG ID|CODE [STATUS]":    {2, 3},
		"grant SLUG EMAIL PERMISSION…": {3, -1}, "verify [SLUG…]": {0, -1}, "brand SLUG [FIELD=VALUE…]": {1, -1},
		"listen SLUG --forward-to URL": {1, 1}} {
		if least, most := arguments(use); least != want[0] || most != want[1] {
			t.Errorf("%s takes %d to %d, want %d to %d", use, least, most, want[0], want[1])
		}
	}
}
