package timestamp

import (
	"fmt"
	"time"
)

// Layout is the format of stored times, as time.Format takes it.
const Layout = "2006-01-02T15:04:05.000Z"

// Format formats t, truncated to the millisecond.
func Format(t time.Time) string { return t.UTC().Truncate(time.Millisecond).Format(Layout) }

// Ptr returns a pointer to the result of Format, for a field that may be null.
func Ptr(t time.Time) *string {
	s := Format(t)
	return &s
}

// Parse reads a time in the form that Format returns.
func Parse(s string) (time.Time, error) {
	t, err := time.Parse(Layout, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("timestamp %q: %w", s, err)
	}
	return t, nil
}

// Ceil rounds t up to a whole millisecond. Stored times have whole milliseconds, and a
// caller's bound may be finer. Rounded up, the bound compares correctly with them.
func Ceil(t time.Time) time.Time {
	cut := t.Truncate(time.Millisecond)
	if cut.Before(t) {
		return cut.Add(time.Millisecond)
	}
	return cut
}
