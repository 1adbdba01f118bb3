package email_test

import (
	"strings"
	"testing"

	"svc/pkg/base/email"
)

// FuzzFold: the folded form of a valid address is valid and folds to itself.
// Surrounding spaces do not change it.
func FuzzFold(f *testing.F) {
	for _, seed := range []string{" Ana@Metro.Example", "straße@metro.example", "ana@metro@example", "İ@x.y", "a\r\n@b.c",
		"ᎠᎡ@x.y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		folded := email.Fold(address)
		if again := email.Fold(folded); again != folded {
			t.Errorf("%q folds to %q, and that to %q", address, folded, again)
		}
		if padded := email.Fold(" " + address + "\t"); padded != folded {
			t.Errorf("%q between spaces folds to %q, not %q", address, padded, folded)
		}
		if email.Valid(folded) && (strings.ContainsAny(folded, " \t\r\n\x00") || strings.Count(folded, "@") != 1 ||
			len(folded) > email.Longest) {
			t.Errorf("%q is accepted", folded)
		}
	})
}
