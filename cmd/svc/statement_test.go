package main

import (
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
)

// TestStatement: svc statement shows a driver's month in each form.
func TestStatement(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.ok("wallet", "post", "metro", "driver1@metro.example", "TOP_UP", "25.5", "--description", "=1+1")
	now := testkit.Local(t, time.Now(), "America/New_York")
	month, posted := now.Format("2006-01"), now.Format(time.DateOnly)
	for format, want := range map[string]string{"table": posted, "csv": ",'=1+1,", "html": "25,50\u00a0USD"} {
		out := w.ok("statement", "metro", "driver1@metro.example", month, "--format", format, "--lang", "de")
		if !strings.Contains(out, want) {
			t.Errorf("%s: no %q in %s", format, want, out)
		}
		if format == "table" && (!strings.Contains(out, "times in America/New_York") || strings.Contains(out, "<nil>") ||
			strings.Contains(out, "0xc0") || !strings.Contains(out, "OPENING")) {
			t.Errorf("the table is %s", out)
		}
	}
}
