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
		"20260102T030405Z": "2026-01-02T03:04:05.000Z", "20260102T0304": "2026-01-02T03:04:00.000Z",
		"2026-01-02T03:04:05,25Z": "2026-01-02T03:04:05.250Z", "2026-01-02T24:00:00Z": "2026-01-03T00:00:00.000Z",
		"2026-12-31T24": "2027-01-01T00:00:00.000Z", "2026-01-02T03Z": "2026-01-02T03:00:00.000Z",
		"2026-01-02T03.5": "2026-01-02T03:30:00.000Z", "2026-01-02T03:04,1": "2026-01-02T03:04:06.000Z",
		"2026-W01-1": "2025-12-29T00:00:00.000Z", "2026W537T08": "2027-01-03T08:00:00.000Z",
		"2026-001": "2026-01-01T00:00:00.000Z", "2024366": "2024-12-31T00:00:00.000Z",
		"2026-032T08:00:00+01": "2026-02-01T07:00:00.000Z", "2026-01-02T03:04\u221205:00": "2026-01-02T08:04:00.000Z",
		"2026-01-02T03:04:05+01:00[Europe/Paris]":         "2026-01-02T02:04:05.000Z",
		"2026-01-02T03:04:05Z[Asia/Tokyo][u-ca=japanese]": "2026-01-02T03:04:05.000Z",
		"2026-12-31t23:59:60z":                            "2027-01-01T00:00:00.000Z",
		"2026-01-02T03:04-05":                             "2026-01-02T08:04:00.000Z",
	} {
		if at, err := timestamp.ParseInput(in); err != nil || timestamp.Format(at.From(time.UTC)) != want {
			t.Errorf("%q: %v %v, want %s", in, at, err, want)
		}
	}
}

func TestParseInput(t *testing.T) {
	for in, ok := range map[string]bool{
		"2026-01-02T03:04:05Z": true, "2026-01-02T03:04:05.123456789+02:00": true, "2026-01-02t03:04:05z": true,
		"2026-01-02": true, "2026-01-02T03:04:05": true, "2026-01-02T03:04": true, "2026-01-02T03:04+0200": true,
		"2026-12-31T23:59:60Z": true, "2026-01-02T03:04:05-05": true, "2026-01-02T03:04:05 02:00": false,
		"2026-01-02T3:04:05Z": false, "2026-01-02T03:04:61Z": false, "2026-01-02Z": false,
		"9999-12-31T23:59:60Z": false, "2026-01-02 03:04:05": false,
		"2026-13-02T03:04:05Z": false, "2026-02-30T03:04:05Z": false,
		"2026-01-02T24:00:01Z": false, "2026-01-02T24:00:00.1Z": false, "2026-01-02T25": false,
		"2026-W54-1": false, "2025-W53-1": false, "2026-W01-8": false, "2026-W01": false,
		"2026-366": false, "2026-000": false,
		"2026-00-10": false, "2026-01": false, "0000-01-01": false, "2026-01-02T03:04:05+24:00": false,
		"2026-01-02T03:60Z": false, "2026-01-02T03:04:05+05:60": false,
		"2026-01-02T03:04:05[Europe/Paris]": false, "2026-01-02[UTC]": false, "2026-01-02T03:04:05Z[!u-ca=hebrew]": false,
		"2026-01-02T03:04:05Z[]": false, "[UTC]": false, "2026-01-02T03:04:05Z[UTC]x": false, "2026-01-02T03Z[+01:00]": true,
		"9999-12-31T23:59:59-01:00": false, "0001-01-01T00:00:00+01:00": false, "": false, "now": false,
	} {
		if at, err := timestamp.ParseInput(in); (err == nil) != ok {
			t.Errorf("%q: %v %v", in, at, err)
		}
	}
}

// A date alone is a day of a time zone. Where clocks change at midnight, the day
// begins at the change or at its first midnight, and ends where the next begins.
func TestDays(t *testing.T) {
	for _, c := range []struct{ zone, date, from, to string }{
		{"UTC", "2026-03-01", "2026-03-01T00:00:00.000Z", "2026-03-02T00:00:00.000Z"},
		{"America/New_York", "2026-03-08", "2026-03-08T05:00:00.000Z", "2026-03-09T04:00:00.000Z"},
		{"Asia/Kolkata", "20260301", "2026-02-28T18:30:00.000Z", "2026-03-01T18:30:00.000Z"},
		{"Pacific/Kiritimati", "2026-W01-4", "2025-12-31T10:00:00.000Z", "2026-01-01T10:00:00.000Z"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00.000Z", "2018-11-05T02:00:00.000Z"}, // no midnight
		{"America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00.000Z", "2018-02-18T03:00:00.000Z"}, // 25 hours
		{"America/Sao_Paulo", "2018-02-18", "2018-02-18T03:00:00.000Z", "2018-02-19T03:00:00.000Z"},
		{"America/Havana", "2025-11-02", "2025-11-02T04:00:00.000Z", "2025-11-03T05:00:00.000Z"}, // two midnights
		{"America/Havana", "2025-03-09", "2025-03-09T05:00:00.000Z", "2025-03-10T04:00:00.000Z"}, // no midnight
		{"Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00.000Z", "2026-04-24T21:00:00.000Z"},   // no midnight
		{"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00.000Z", "2011-12-30T10:00:00.000Z"},   // no such day there
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		in, err := timestamp.ParseInput(c.date)
		if err != nil || !in.IsDate() {
			t.Fatalf("%s: %v", c.date, err)
		}
		if from, to := timestamp.Format(in.From(zone)), timestamp.Format(in.To(zone)); from != c.from || to != c.to {
			t.Errorf("%s in %s: %s to %s, want %s to %s", c.date, c.zone, from, to, c.from, c.to)
		}
	}
	in, err := timestamp.ParseInput("2026-03-01T12:00:00+02:00")
	if err != nil || in.IsDate() || in.From(time.Local) != in.To(time.UTC) {
		t.Errorf("%v, %v", in, err)
	}
}
