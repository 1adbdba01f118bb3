package phone_test

import (
	"testing"

	"svc/pkg/base/phone"
)

// A driver's or a business's phone is taken as people write it, in any script.
func TestIs(t *testing.T) {
	for text, want := range map[string]bool{"+1 212 555 0181": true, "(212) 555-0181": true, "112": true, "abc": false,
		"": false, "12": false, "+": false, "+1 212 abc": false, "123456789012345678901": false, "1\n23": false,
		"٠٢ ٢٥٧٤ ٣٢١٠": true, "०११-२३४५ ६७८९": true, "+49\u00a030\u2011901820": true, "0049 (0)30 90 18 20": true,
		"tel:+351-21-000-0000": true, "TEL:+351210000000": true, "+44 20 7946 0958 ext. 12": true,
		"020 7946 0958 x12": true, "+1-212-555-0181;ext=5": true, "\u202a+1 212 555 0181\u202c": true, "＋８１ ３ １２３４": true,
		"+30 – 210 – 1234567": true, "ext. 12": false, "x12": false, "tel:": false, "1 2 3 +4": false, "12;ext=12": false,
		"212 555 0181 or 0182": false, "١٢": false} {
		if phone.Is(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}
