package plans_test

import (
	"testing"

	"svc/pkg/base/phone/plans"
)

// TestExtensions: an extension is no part of the number, whatever the language of its name.
func TestExtensions(t *testing.T) {
	for typed, want := range map[string]string{"030 1234567": "49301234567", "030 1234567 ext. 12": "49301234567",
		"030 1234567 DW 12": "49301234567", "(0)30 1234567 Durchwahl 12": "49301234567",
		"+49 (0)30 1234567 int. 12": "49301234567", "030 1234567,,12": "49301234567",
		"+36 1 234 5678 mellék 12": "3612345678", "+7 495 123-45-67 доб. 12": "74951234567",
		"+1 800 FLOWERS": "18003569377"} {
		if got := plans.Read(typed, "DE"); got == nil || got.E164 != want || got.Typed != typed {
			t.Errorf("%q: %+v, want %s", typed, got, want)
		}
	}
}
