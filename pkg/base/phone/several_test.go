package phone_test

import (
	"testing"

	"svc/pkg/base/phone"
)

// TestSeveral: two numbers are told from one number with separators, whatever stands
// between them.
func TestSeveral(t *testing.T) {
	for text, want := range map[string]bool{
		"030 1234567 / 0171 1234567": true, "030 1234567, 0171 1234567": true, "030 1234567; 0171 1234567": true,
		"030 1234567 | 0171 1234567": true, "030 1234567\n0171 1234567": true, "0301234567 0171 1234567": true,
		"0301234567 - 01711234567": true, "030 1234567 oder 0171 1234567": true, "212 555 0181 or 212 555 0182": true,
		"(212) 555-0181 (212) 555-0182": true, "555-0181/555-0182": true, "+49301234567+491711234567": true,
		"030 1234567/68": true, "06 12 34 56 78 / 06 12 34 56 79": true, "06 12 34 56 78 06 12 34 56 79": true,
		"12345678901234567": true,
		"":                  false, "112": false, "+1 212 555 0181": false, "(212) 555-0181": false, "030/1234567": false,
		"+49 30/1234567": false, "+49 (0) 33203/12345": false, "0049 30 / 1234567": false, "011 49 30 1234567": false,
		"+44 20 7946 0958 ext. 12": false, "+1-212-555-0181;ext=5": false, "+30 – 210 – 1234567": false,
		"06 12 34 56 78": false, "٠٢ ٢٥٧٤ ٣٢١٠": false, "1-800-FLOWERS": false, "+49 151 12345678": false,
	} {
		if phone.Several(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
	for typed, want := range map[string]string{"+44 20 7946 0958 ext. 12": ";ext=12", "020 7946 0958 x12": ";ext=12",
		"+1-212-555-0181;ext=5": ";ext=5", "030 1234567 #7": ";ext=7", "030 1234567": "", "+1 212 555 0181,,123": ";ext=123",
		"+39 06 1234567 int. 12": ";ext=12", "+49 30 1234567 DW 12": ";ext=12", "+49 30 1234567 Durchwahl: 12": ";ext=12",
		"+33 1 23 45 67 89 poste 12": ";ext=12", "+31 20 123 4567, toestel 12": ";ext=12", "020 7946 0958, ext.12": ";ext=12",
		"+36 1 234 5678 mellék 12": ";ext=12", "+7 495 123-45-67 доб. 12": ";ext=12", "030 1234567, 12": "",
		"030~1234567":   "",
		"1-800-FLOWERS": ""} {
		if got := phone.Extension(typed); got != want {
			t.Errorf("the extension of %q is %q, want %q", typed, got, want)
		}
	}
}
