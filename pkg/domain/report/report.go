package report

import (
	"context"
	"fmt"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/trip"
)

// Window is the time span of a report: From is inclusive, To is exclusive.
type Window struct {
	From string `json:"from" format:"date-time" doc:"Start of the window, included."`
	To   string `json:"to" format:"date-time" doc:"End of the window, excluded."`
}

// Summary is the report summary (specification, "Report summary"). The number of drivers
// online is that of now. It cannot be computed for the past, because the event feed omits
// short statuses and keeps events for 30 days only.
type Summary struct {
	Window         Window                `json:"window" doc:"The bounds used."`
	TripsByStatus  map[trip.Status]int64 `json:"tripsByStatus" doc:"Trips requested in the window, by the status they have now; every status is named."`
	CompletedTrips int64                 `json:"completedTrips" doc:"Trips completed in the window, whenever they were requested."`
	Revenue        money.Amount          `json:"revenue" doc:"Sum of the final fares of the trips completed in the window, currency units."`
	Currency       string                `json:"currency" doc:"ISO 4217 code of the tenant's currency."`
	ActiveDrivers  int64                 `json:"activeDrivers" doc:"Drivers ONLINE or BUSY now, whatever the window. Disabled accounts count too."`
	TotalCustomers int64                 `json:"totalCustomers" doc:"Customers of the tenant now, whatever the window. Disabled accounts count too."`

	Older bool `json:"-"` // some revenue is counted by time of request, as builds up to 2026-11 did
}

// Longest is the maximum length of a window.
const Longest = 400 * day

const defaultWindow = 30 * day

// bounds returns the requested window in milliseconds, the precision of trip
// times. It compares the bounds exactly and then rounds a finer bound up. If from is nil,
// the window begins 30 days before its end; if to is nil, it ends now. Errors: a 400 if
// the window is empty, longer than Longest, or ends after the year 9999.
func bounds(from, to *time.Time, now time.Time) (time.Time, time.Time, error) {
	end := now
	if to != nil {
		end = *to
	}
	start := end.Add(-defaultWindow)
	if first := (time.Time{}); start.Before(first) { // the zero time is in the year 1
		start = first
	}
	if from != nil {
		start = *from
	}
	ordered := start.Before(end)
	start, end = timestamp.Ceil(start.UTC()), timestamp.Ceil(end.UTC())
	var wrong fault.Faults
	wrong.Unless(start.Year() <= 9999, "query.from", "expected a year up to 9999")
	wrong.Unless(end.Year() <= 9999, "query.to", "expected a year up to 9999")
	switch {
	case len(wrong) > 0:
	case !ordered && to == nil:
		wrong.Add("query.from", "must be before to (now, because to is not given)")
	case !ordered:
		wrong.Add("query.to", "must be after from")
	case end.Sub(start) > Longest:
		wrong.Add("query.from", "expected at most 400 days before to (now if to is not given)")
	}
	return start, end, wrong.Err()
}

// Summarize returns the report of a window whose bounds have no fraction of a
// millisecond, in a tenant with n read shards. It runs one query per range of
// counters and shard, and one batch get for the totals, all in parallel.
func Summarize(ctx context.Context, t table.Tenant, from, to time.Time, n int) (*Summary, error) {
	out := &Summary{Window: Window{timestamp.Format(from), timestamp.Format(to)}, TripsByStatus: map[trip.Status]int64{}}
	group, ctx := panics.WithContext(ctx)
	var totals map[counter.Ref]counter.Sums
	group.Go(func() (err error) {
		totals, err = counter.Read(ctx, t, n, counter.Drivers, counter.Customers)
		return err
	})
	var pages []*table.Page
	for _, s := range cover(from.UTC(), to.UTC()) {
		for shard := range s.shards(n) {
			page := &table.Page{}
			pages = append(pages, page)
			group.Go(func() (err error) {
				*page, err = t.Query(ctx, s.ref.PartitionOf(t, shard), table.Query{From: s.from, To: s.to, Limit: s.count})
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	sums := counter.Sums{}
	for _, page := range pages {
		if page.More {
			return nil, fmt.Errorf("report: more counters than periods")
		}
		for _, it := range page.Items {
			counter.Of(it, sums)
		}
	}
	for _, status := range trip.Statuses {
		out.TripsByStatus[status] = sums.Int(names[status])
	}
	out.complete(sums)
	out.ActiveDrivers = totals[counter.Drivers].Int(driver.Online) + totals[counter.Drivers].Int(driver.Busy)
	out.TotalCustomers = totals[counter.Customers].Int("count")
	return out, nil
}

// complete sets the completed trips and their revenue from the sums of the window's
// counters. Builds up to 2026-11 counted both by the time of request. Rides that were not
// counted again since then still count that way.
func (s *Summary) complete(sums counter.Sums) {
	was := sums[olderRevenue]
	s.CompletedTrips, s.Revenue = sums.Int(completed), money.Of(sums[revenue].Add(was))
	if s.Older = !was.IsZero(); s.Older {
		s.CompletedTrips = max(s.CompletedTrips, sums.Int(names[trip.Completed]))
	}
}

// Counted is the sum of the tenant's day counters.
type Counted struct {
	Trips int
	Older bool // some revenue is counted by time of request, as builds up to 2026-11 did
}

// All adds up all day counters of the tenant. It may read several pages, so only commands
// use it.
func All(ctx context.Context, t table.Tenant) (out Counted, err error) {
	days, sums := counter.Ref{Partition: Days, Sharded: true}, counter.Sums{}
	for shard := range counter.MaxShards {
		for items, err := range t.Pages(ctx, days.PartitionOf(t, shard), table.Query{Limit: table.Examined}) {
			if err != nil {
				return out, err
			}
			for _, it := range items {
				counter.Of(it, sums)
			}
		}
	}
	for _, name := range names {
		out.Trips += int(sums.Int(name))
	}
	out.Older = !sums[olderRevenue].IsZero()
	return out, nil
}

// shards returns the number of shards over which the stretch's counters are divided. n is
// the number of the tenant's read shards.
func (s stretch) shards(n int) int {
	if !s.ref.Sharded {
		return 1
	}
	return counter.Shards(n)
}
