package password

import (
	"strings"
	"testing"
)

func TestVerify(t *testing.T) {
	hash := Hash("demo-password")
	long := strings.Repeat("x", Longest)
	tests := []struct {
		name, hash, password string
		want                 bool
	}{
		{"the password", hash, "demo-password", true},
		{"another", hash, "demo-passwore", false},
		{"empty", hash, "", false},
		{"no hash", "", "demo-password", false},
		{"a broken hash", hash[:len(hash)-30], "demo-password", false},
		{"another algorithm", strings.Replace(hash, "argon2id", "argon2i", 1), "demo-password", false},
		{"parameters that would exhaust memory", strings.Replace(hash, "m=19456", "m=4194304", 1), "demo-password", false},
		{"the account that is not there", nobody, "", false},
		{"composed and decomposed letters are one", Hash("pässword-123"), "pa\u0308ssword-123", true},
		{"longest", Hash(long), long, true},
		{"longer than longest", Hash(long), long + "y", false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := Verify(tc.hash, tc.password); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("parameters of %s", hash)
	}
	if hash == Hash("demo-password") {
		t.Error("two hashes share a salt")
	}
}

func TestCheck(t *testing.T) {
	for password, ok := range map[string]bool{"": false, "123456789": false, "1234567890": true, "ääääääääää": true,
		strings.Repeat("x", Longest+1): false, "0123456789\xff": false} {
		if got := Check(password) == nil; got != ok {
			t.Errorf("%d bytes: got %v", len(password), got)
		}
	}
}
