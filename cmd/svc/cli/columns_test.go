package cli

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A short table loses columns and characters, but no id; --wide loses nothing.
func TestNarrowTable(t *testing.T) {
	t.Parallel()
	id, long := "trp_01JT7M4C6Q8V2N5X9B3D1F7H0K", strings.Repeat("é", 90)
	lines := func() [][]string {
		return [][]string{{"AT", "NAME", "PHONE+", "ID"}, {"2026-05-01T08:30:59.999Z", long, "+1 212 555 0181", id}}
	}
	got := narrow(lines())
	if len(got[0]) != 3 || got[1][0] != "2026-05-01 08:30" || !strings.HasSuffix(got[1][1], "é…") || got[1][2] != id {
		t.Errorf("narrow: %q", got)
	}
	if n := utf8.RuneCountInString(strings.Join(got[1], "  ")); n != TableWidth {
		t.Errorf("the line has %d columns, want %d", n, TableWidth)
	}
	if got := full(lines()); got[0][2] != "PHONE" || got[1][1] != long || got[1][0] != "2026-05-01T08:30:59.999Z" {
		t.Errorf("full: %q", got)
	}
}
