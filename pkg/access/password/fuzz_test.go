package password

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzDecode checks that a decoded hash is within bounds and encodes to the
// same text.
func FuzzDecode(f *testing.F) {
	f.Add(nobody)
	f.Add("$argon2id$v=19$m=4294967296,t=1,p=1$AAAA$AAAA")
	f.Add("$argon2id$v=19$m=1024,t=1,p=1 ,x$AAAA$AAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, phc string) {
		s, salt, hash, err := decode(phc)
		if err != nil {
			return
		}
		if s.memory > 1<<20 || s.passes > 16 || s.lanes > 16 || len(hash) < 16 || len(hash) > 64 {
			t.Errorf("%q: %+v", phc, s)
		}
		again, salt2, hash2, err := decode(encode(s, salt, hash))
		if err != nil || again != s || string(salt2) != string(salt) || string(hash2) != string(hash) {
			t.Errorf("%q is not read again: %v", phc, err)
		}
	})
}

// FuzzCheck checks that an accepted password is valid text within the bounds.
func FuzzCheck(f *testing.F) {
	f.Add("correct horse battery")
	f.Add(strings.Repeat("\xff", 12))
	f.Fuzz(func(t *testing.T, password string) {
		if Check(password) == nil && (!utf8.ValidString(password) || utf8.RuneCountInString(password) < Shortest ||
			len(password) > Longest) {
			t.Errorf("%q is accepted", password)
		}
	})
}
