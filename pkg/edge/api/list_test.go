package api_test

import (
	"errors"
	"strings"
	"testing"

	"svc/pkg/base/fault"
	"svc/pkg/edge/api"
)

// TestPosition checks that a cursor decodes to its position in its own list
// with its own filters, and that no cursor decodes to an invalid range key.
func TestPosition(t *testing.T) {
	at := "2026-03-01T12:00:00.000Z#trp_01JT7M4C6Q8V2N5X9B3D1F7H0K"
	for _, tc := range []struct {
		name, cursor string
		want         string // "" for a 400
	}{
		{"its own", *api.Cursor(at, "trips", "PENDING", ""), at},
		{"another list's", *api.Cursor(at, "orders", "PENDING", ""), ""},
		{"another filter's", *api.Cursor(at, "trips", "", "PENDING"), ""},
		{"mangled", "A" + (*api.Cursor(at, "trips", "PENDING", ""))[1:], ""},
		{"cut", (*api.Cursor(at, "trips", "PENDING", ""))[:20], ""},
		{"empty position", *api.Cursor("", "trips", "PENDING", ""), ""},
		{"longest", *api.Cursor(strings.Repeat("9", 1023), "trips", "PENDING", ""), strings.Repeat("9", 1023)},
		{"too long for a range key", *api.Cursor(strings.Repeat("9", 1024), "trips", "PENDING", ""), ""},
		{"not UTF-8", *api.Cursor("\xff", "trips", "PENDING", ""), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := api.Position(tc.cursor, "trips", "PENDING", "")
			if got != tc.want || (tc.want == "") != errors.Is(err, fault.Invalid()) {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}
