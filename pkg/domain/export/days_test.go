package export

import (
	"slices"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/base/timestamp"
)

// TestDaysWithoutMidnight: a report has each local day once, also a day that
// begins at one o'clock, and one that has an hour twice.
func TestDaysWithoutMidnight(t *testing.T) {
	db := testkit.Table(t)
	for name, tt := range map[string]struct{ from, to, zone string }{
		"begins at one":   {"2026-09-04", "2026-09-08", "America/Santiago"},
		"an hour twice":   {"2026-04-03", "2026-04-06", "America/Santiago"},
		"Beirut's spring": {"2026-03-27", "2026-03-31", "Asia/Beirut"},
		"Cairo's spring":  {"2026-04-22", "2026-04-26", "Africa/Cairo"},
	} {
		t.Run(name, func(t *testing.T) {
			zone, err := time.LoadLocation(tt.zone)
			testkit.Must(t, err)
			from, err := timestamp.ParseInput(tt.from)
			testkit.Must(t, err)
			to, err := timestamp.ParseInput(tt.to)
			testkit.Must(t, err)
			var got, want []string
			s := Scope{Tenant: db.Tenant("ten_1"), From: from.From(zone), To: to.To(zone), Shards: 1, Zone: zone}
			for row, err := range days(t.Context(), s, "") {
				testkit.Must(t, err)
				got = append(got, row.Value.(Day).Date)
			}
			day, err := time.Parse("2006-01-02", tt.from)
			testkit.Must(t, err)
			for ; day.Format("2006-01-02") <= tt.to; day = day.AddDate(0, 0, 1) {
				want = append(want, day.Format("2006-01-02"))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
