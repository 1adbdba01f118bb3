package timestamp

import (
	"fmt"
	"regexp"
	"time"
)

// Layout is the form, for time.Format.
const Layout = "2006-01-02T15:04:05.000Z"

// Format writes t, cut to the millisecond.
func Format(t time.Time) string { return t.UTC().Truncate(time.Millisecond).Format(Layout) }

// Ptr is Format for a field that may be null.
func Ptr(t time.Time) *string {
	s := Format(t)
	return &s
}

// Parse reads a time as Format writes it.
func Parse(s string) (time.Time, error) {
	t, err := time.Parse(Layout, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("timestamp %q: %w", s, err)
	}
	return t, nil
}

// form is RFC 3339's, of which time.Parse also takes relatives: one digit for the
// hour, a comma before the decimals.
var form = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// ParseInput reads a caller's RFC 3339 date-time with any offset and any
// number of decimals. The years 1 to 9999 in UTC are accepted.
func ParseInput(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || !form.MatchString(s) {
		return time.Time{}, fmt.Errorf("not a date-time (RFC 3339)")
	}
	t = t.UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, fmt.Errorf("out of range")
	}
	return t, nil
}

// Ceil gives the first millisecond that is not before t: a bound finer than
// a millisecond compares as if stored times were exact.
func Ceil(t time.Time) time.Time {
	cut := t.Truncate(time.Millisecond)
	if cut.Before(t) {
		return cut.Add(time.Millisecond)
	}
	return cut
}
