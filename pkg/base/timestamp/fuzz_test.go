package timestamp_test

import (
	"testing"
	"time"

	"svc/pkg/base/timestamp"
)

// FuzzParseInput: an accepted time can be formatted and parsed again, and
// formatted times sort in time order.
func FuzzParseInput(f *testing.F) {
	for _, seed := range []string{"2026-03-04T05:06:07.0089Z", "2026-03-04T05:06:07+02:00", "0000-12-31T23:59:59-01:00",
		"9999-12-31T23:59:59.9999Z", "2026-3-4", "2026W101T08,5+0100", "2026-366", "99991231T24"} {
		f.Add(seed)
	}
	middle := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		in, err := timestamp.ParseInput(text)
		if err != nil {
			return
		}
		at := in.From(time.UTC)
		written := timestamp.Format(at)
		back, err := timestamp.Parse(written)
		if err != nil || !back.Equal(at.Truncate(time.Millisecond)) || len(written) != len(timestamp.Layout) {
			t.Errorf("%q is written %q and read as %v, %v", text, written, back, err)
		}
		if back.Before(middle) != (written < timestamp.Format(middle)) {
			t.Errorf("%q sorts another way than its time", written)
		}
	})
}
