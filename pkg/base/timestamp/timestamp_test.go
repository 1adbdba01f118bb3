package timestamp_test

import (
	"testing"
	"time"

	"svc/pkg/base/timestamp"
)

func TestFormat(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 8_999_999, time.FixedZone("", 2*3600))
	if got := timestamp.Format(at); got != "2026-03-04T03:06:07.008Z" {
		t.Error(got)
	}
	back, err := timestamp.Parse("2026-03-04T03:06:07.008Z")
	if err != nil || !back.Equal(at.Truncate(time.Millisecond)) {
		t.Error(back, err)
	}
}

func TestCeil(t *testing.T) {
	whole := time.Date(2026, 1, 1, 0, 0, 0, 5_000_000, time.UTC)
	for _, c := range []struct{ in, want time.Time }{{whole, whole}, {whole.Add(1), whole.Add(time.Millisecond)},
		{whole.Add(-1), whole}} {
		if got := timestamp.Ceil(c.in); !got.Equal(c.want) {
			t.Errorf("%v: %v, want %v", c.in, got, c.want)
		}
	}
}

// TestParseInputMeaning: omitted parts of a time have their defaults.
func TestParseInputMeaning(t *testing.T) {
	for in, want := range map[string]string{
		"2026-01-02": "2026-01-02T00:00:00.000Z", "2026-01-02T03:04": "2026-01-02T03:04:00.000Z",
		"2026-01-02T03:04:05": "2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05.1236+0130": "2026-01-02T01:34:05.123Z",
		"2026-12-31t23:59:60z": "2027-01-01T00:00:00.000Z", "2026-01-02T03:04-05": "2026-01-02T08:04:00.000Z",
	} {
		if at, err := timestamp.ParseInput(in); err != nil || timestamp.Format(at) != want {
			t.Errorf("%q: %v %v, want %s", in, at, err, want)
		}
	}
}

func TestParseInput(t *testing.T) {
	for in, ok := range map[string]bool{
		"2026-01-02T03:04:05Z": true, "2026-01-02T03:04:05.123456789+02:00": true, "2026-01-02t03:04:05z": true,
		"2026-01-02": true, "2026-01-02T03:04:05": true, "2026-01-02T03:04": true, "2026-01-02T03:04+0200": true,
		"2026-12-31T23:59:60Z": true, "2026-01-02T03:04:05-05": true, "2026-01-02T03:04:05 02:00": false,
		"2026-01-02T3:04:05Z": false, "2026-01-02T03:04:05,5Z": false, "2026-01-02T03:04:61Z": false, "2026-01-02Z": false,
		"9999-12-31T23:59:60Z": false, "2026-01-02 03:04:05": false,
		"2026-13-02T03:04:05Z": false, "2026-02-30T03:04:05Z": false, "2026-01-02T24:00:00Z": false,
		"9999-12-31T23:59:59-01:00": false, "0001-01-01T00:00:00+01:00": false, "": false, "now": false,
	} {
		if at, err := timestamp.ParseInput(in); (err == nil) != ok {
			t.Errorf("%q: %v %v", in, at, err)
		}
	}
}
