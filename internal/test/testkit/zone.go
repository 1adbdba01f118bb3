package testkit

import (
	"testing"
	"time"
)

// Local returns the time at in a zone. A test takes the day and the month of a company from it,
// because UTC may be a day or a month ahead of the company.
func Local(t testing.TB, at time.Time, zone string) time.Time {
	t.Helper()
	in, err := time.LoadLocation(zone)
	Must(t, err)
	return at.In(in)
}
