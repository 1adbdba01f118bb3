package plaintext_test

import (
	"testing"

	"svc/pkg/base/plaintext"
)

func TestIsPhone(t *testing.T) {
	for text, want := range map[string]bool{"+1 212 555 0181": true, "(212) 555-0181": true, "112": true, "abc": false,
		"": false, "12": false, "+": false, "+1 212 abc": false, "123456789012345678901": false, "1\n23": false} {
		if plaintext.IsPhone(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}
