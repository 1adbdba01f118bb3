package timestamp

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Layout is the format, for time.Format.
const Layout = "2006-01-02T15:04:05.000Z"

// Format formats t, truncated to the millisecond.
func Format(t time.Time) string { return t.UTC().Truncate(time.Millisecond).Format(Layout) }

// Ptr is Format for a field that may be null.
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

// input matches a caller's date-time (ISO 8601): a date, or a date and a time.
// Seconds and offset are optional. It also matches an offset that begins with a
// blank, so that ParseInput can explain this error.
var input = regexp.MustCompile(
	`^(\d{4}-\d\d-\d\d)(?:[Tt](\d\d:\d\d)(?::(\d\d)(\.\d+)?)?([Zz]|([+\- ])(\d\d)(?::?(\d\d))?)?)?$`)

// ParseInput reads a caller's date-time: ISO 8601, in the years 1 to 9999 in
// UTC. A time without an offset is in UTC. A date without a time means its
// midnight in UTC. Second 60 means the first second of the next minute.
func ParseInput(s string) (time.Time, error) {
	part := input.FindStringSubmatch(s)
	if part == nil {
		return time.Time{}, errors.New("expected a date-time such as 2026-01-31T08:00:00Z")
	}
	date, clock, second, fraction, zone := part[1], part[2], part[3], part[4], part[5]
	sign, hours, minutes := part[6], part[7], part[8]
	if sign == " " {
		return time.Time{}, errors.New("a blank stands where + was meant: write %2B in a query")
	}
	var leap time.Duration
	if second == "60" {
		second, leap = "59", time.Second
	}
	offset := "Z"
	if zone != "" && sign != "" {
		offset = sign + hours + ":" + cmp.Or(minutes, "00")
	}
	t, err := time.Parse(time.RFC3339Nano, date+"T"+cmp.Or(clock, "00:00")+":"+cmp.Or(second, "00")+fraction+offset)
	if err != nil {
		return time.Time{}, errors.New("there is no such date or time")
	}
	t = t.Add(leap).UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, errors.New("expected a time in the years 1 to 9999 in UTC")
	}
	return t, nil
}

// Ceil returns the first whole millisecond that is not before t. A caller's
// bound may be finer than a millisecond: rounded by Ceil, it compares correctly
// with stored times.
func Ceil(t time.Time) time.Time {
	cut := t.Truncate(time.Millisecond)
	if cut.Before(t) {
		return cut.Add(time.Millisecond)
	}
	return cut
}
