package report

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
)

const ms = time.Millisecond

// counted contains the data of a trip that the report counters use.
type counted struct {
	at     time.Time
	status trip.Status
	fare   decimal.Decimal
	took   time.Duration // from the request to the completion
}

// itemsOf returns counters as items, for an empty table.
func itemsOf(tenant table.Tenant, shard int, changes counter.Changes) (items []table.Item) {
	for ref, sums := range changes {
		it := table.Item{Key: ref.Key(tenant, shard), Type: "counter", Attrs: map[string]any{}}
		for name, by := range sums {
			it.Attrs["n"+name] = money.Of(by)
		}
		items = append(items, it)
	}
	return items
}

// load writes the trips' counters, spread over the shards.
func load(t *testing.T, tenant table.Tenant, shards int, trips []counted) {
	t.Helper()
	spread := make([]counter.Changes, shards)
	for i, tr := range trips {
		if spread[i%shards] == nil {
			spread[i%shards] = counter.Changes{}
		}
		Requested(spread[i%shards], tr.status, tr.at)
		if tr.status == trip.Completed {
			Completed(spread[i%shards], tr.fare, tr.at.Add(tr.took))
		}
	}
	unsharded := counter.Changes{} // counters with one item each
	for shard, changes := range spread {
		for ref, sums := range changes {
			if !ref.Sharded {
				unsharded.AddAll(counter.Changes{ref: sums}, 1)
				delete(changes, ref)
			}
		}
		if err := tenant.Load(t.Context(), itemsOf(tenant, shard, changes)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := tenant.Load(t.Context(), itemsOf(tenant, 0, unsharded)...); err != nil {
		t.Fatal(err)
	}
}

// brute computes the report from every trip.
func brute(trips []counted, from, to time.Time) *Summary {
	out := &Summary{Window: Window{timestamp.Format(from), timestamp.Format(to)}, TripsByStatus: map[trip.Status]int64{}}
	for _, status := range trip.Statuses {
		out.TripsByStatus[status] = 0
	}
	sum := decimal.Zero
	for _, tr := range trips {
		within := func(at time.Time) bool { return !at.Before(from) && at.Before(to) }
		if within(tr.at) {
			out.TripsByStatus[tr.status]++
		}
		if tr.status == trip.Completed && within(tr.at.Add(tr.took)) {
			out.CompletedTrips, sum = out.CompletedTrips+1, sum.Add(tr.fare)
		}
	}
	out.Revenue = money.Of(sum)
	return out
}

func TestSummarizeIsExactToTheMillisecond(t *testing.T) {
	testkit.LongHere(t)
	for _, shards := range []int{1, 3, 16} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(shards), 1))
			tenant := testkit.Table(t).Tenant("ten_1")
			begin := time.Date(2025, 12, 30, 23, 59, 59, 0, time.UTC)
			spans := []time.Duration{5 * ms, 300 * ms, 3 * time.Second, 20 * time.Minute, 3 * time.Hour, 3 * day, 420 * day}
			any := func() time.Time {
				return begin.Add(time.Duration(rnd.Int64N(int64(spans[rnd.IntN(len(spans))])))).Truncate(ms)
			}
			var trips []counted
			for range 700 {
				trips = append(trips, counted{any(), trip.Statuses[rnd.IntN(len(trip.Statuses))],
					decimal.New(rnd.Int64N(10000), -2), time.Duration(rnd.Int64N(int64(spans[rnd.IntN(6)]))).Truncate(ms)})
			}
			load(t, tenant, counter.Shards(shards), trips)
			windows := [][2]time.Time{{begin, begin.Add(Longest)}, {begin, begin.Add(ms)},
				{begin.Truncate(day), begin.Truncate(day).Add(day)}}
			for range 150 {
				from, to := any(), any()
				switch rnd.IntN(4) {
				case 0: // just at a trip
					from = trips[rnd.IntN(len(trips))].at
				case 1: // just after one
					to = trips[rnd.IntN(len(trips))].at.Add(ms)
				case 2: // at the bounds of periods
					width := levels[rnd.IntN(len(levels))].width
					from, to = from.Truncate(width), to.Truncate(width).Add(width)
				}
				if from.After(to) {
					from, to = to, from
				}
				if from.Before(to) && to.Sub(from) <= Longest {
					windows = append(windows, [2]time.Time{from, to})
				}
			}
			for _, window := range windows {
				got, err := Summarize(t.Context(), tenant, window[0], window[1], shards)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(brute(trips, window[0], window[1]), got); diff != "" {
					t.Fatalf("%v: %s", window, diff)
				}
			}
		})
	}
}

// TestBudget measures the maximum cost of a report: every period has a counter
// with every status and sums of many digits, and both ends of the window need
// counters of all levels.
func TestBudget(t *testing.T) {
	wire := &testkit.Wire{}
	db := testkit.TableOnWire(t, wire)
	for _, shards := range []int{1, 16} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			stand := apitest.New(t, db, Rows()...)
			tenant := stand.Tenant("USD", shards)
			from := time.Date(2025, 1, 1, 0, 0, 0, int(ms), time.UTC)
			to := time.Date(2026, 2, 4, 23, 59, 59, 999*int(ms), time.UTC)
			fill(t, tenant, from, to, shards)
			wire.Rounds(true)
			defer wire.Restore()
			defer wire.Rounds(false)
			operator := stand.Token(tenant, authz.Dashboard, "usr_1", "VIEW_REPORTS")
			q := url.Values{"from": {timestamp.Format(from)}, "to": {timestamp.Format(to)}}
			for name, want := range map[string]int{"first": 2, "again": 2} {
				var got Summary
				stand.Want(200, &got, "GET", "/api/v1/reports/summary?"+q.Encode(), operator, "")
				u := stand.Last().Usage
				t.Logf("%s: %d trips, %+v", name, got.CompletedTrips, u)
				if u.Sequential > want || u.ReadUnits > 80 || u.WriteUnits > 0 {
					t.Errorf("%s: %+v, want at most %d in sequence and 80 units", name, u, want)
				}
			}
		})
	}
}

// fill writes every counter that a report of the window reads.
func fill(t *testing.T, tenant table.Tenant, from, to time.Time, shards int) {
	t.Helper()
	large := decimal.RequireFromString("1234567890.12")
	sums := counter.Sums{completed: decimal.NewFromInt(123456789), revenue: large, olderRevenue: large}
	for _, name := range names {
		sums[name] = decimal.NewFromInt(123456789)
	}
	var items []table.Item
	for _, s := range cover(from, to) {
		k := slices.IndexFunc(levels, func(l level) bool { return l.name == levelName(s.ref.Partition) })
		for i := range s.count {
			ref := s.ref
			if k == 0 {
				ref = levels[0].ref(0, ceil(from, day).Add(time.Duration(i)*day))
			} else {
				var first int
				_, _ = fmt.Sscan(s.from, &first)
				ref.SK = fmt.Sprintf("%02d", first+i)
			}
			for shard := range s.shards(shards) {
				items = append(items, itemsOf(tenant, shard, counter.Changes{ref: sums})...)
			}
		}
	}
	t.Logf("%d counters", len(items))
	if err := tenant.Load(t.Context(), items...); err != nil {
		t.Fatal(err)
	}
}

func levelName(partition string) string {
	var name string
	for _, r := range partition[len("REPORT#"):] {
		if r == '#' {
			break
		}
		name += string(r)
	}
	return name
}

func TestSummaryWindow(t *testing.T) {
	stand := apitest.New(t, testkit.Table(t), Rows()...)
	tenant, other := stand.Tenant("USD", 1), stand.Tenant("USD", 1)
	operator := stand.Token(tenant, authz.Dashboard, "usr_1", "VIEW_REPORTS")
	now := apitest.Start
	load(t, tenant, 1, []counted{{now.Add(-ms), trip.Completed, decimal.RequireFromString("18.5"), 0},
		{now, trip.Pending, decimal.Zero, 0},
		{now.Add(-30 * day), trip.Cancelled, decimal.Zero, 0},
		{now.Add(-30*day - ms), trip.Completed, decimal.RequireFromString("7"), 0},
		{now.Add(-500 * day), trip.Completed, decimal.RequireFromString("0.25"), 60 * day}})
	load(t, other, 1, []counted{{now.Add(-ms), trip.Completed, decimal.RequireFromString("1000"), 0}})
	at := func(d time.Duration) string { return timestamp.Format(now.Add(d)) }
	tests := []struct {
		name, from, to string
		window         Window
		trips          int64
		revenue        money.Amount
	}{
		{"by default the last 30 days", "", "", Window{at(-30 * day), at(0)}, 2, "18.5"},
		{"from", at(-30*day - ms), "", Window{at(-30*day - ms), at(0)}, 3, "25.5"},
		{"to, excluded", "", at(ms), Window{at(-30*day + ms), at(ms)}, 2, "18.5"},
		{"to, long ago", "", at(-30 * day), Window{at(-60 * day), at(-30 * day)}, 1, "7"},
		{"completed in the window, requested before it", at(-450 * day), at(-100 * day), Window{at(-450 * day),
			at(-100 * day)}, 0, "0.25"},
		{"requested in the window, completed after it", at(-550 * day), at(-470 * day), Window{at(-550 * day),
			at(-470 * day)}, 1, "0"},
		{"to at the beginning of all times", "", "0001-01-02T00:00:00Z",
			Window{"0001-01-01T00:00:00.000Z", "0001-01-02T00:00:00.000Z"}, 0, "0"},
		{"another offset", "2026-03-01T13:59:59.999+02:00", "2026-03-01T12:00:00Z", Window{at(-ms), at(0)}, 1, "18.5"},
		{"finer than a millisecond", "2026-03-01T11:59:59.9985Z", "2026-03-01T11:59:59.9995Z", Window{at(-ms), at(0)}, 1,
			"18.5"},
		{"between two milliseconds", "2026-03-01T11:59:59.9991Z", "2026-03-01T12:00:00.0001Z", Window{at(0), at(ms)}, 1, "0"},
		{"within a millisecond", "2026-03-01T11:59:59.9981Z", "2026-03-01T11:59:59.9989Z", Window{at(-ms), at(-ms)}, 0, "0"},
		{"400 days", at(-400 * day), at(0), Window{at(-400 * day), at(0)}, 3, "25.5"},
		{"the far past", "0001-01-01T00:00:00Z", "0001-01-02T00:00:00Z",
			Window{"0001-01-01T00:00:00.000Z", "0001-01-02T00:00:00.000Z"}, 0, "0"},
		{"the far future", "9999-12-31T00:00:00Z", "9999-12-31T23:59:59.999Z",
			Window{"9999-12-31T00:00:00.000Z", "9999-12-31T23:59:59.999Z"}, 0, "0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := url.Values{}
			if tt.from != "" {
				q.Set("from", tt.from)
			}
			if tt.to != "" {
				q.Set("to", tt.to)
			}
			var got Summary
			stand.Want(200, &got, "GET", "/api/v1/reports/summary?"+q.Encode(), operator, "")
			sum := int64(0)
			for _, n := range got.TripsByStatus {
				sum += n
			}
			if diff := cmp.Diff(tt.window, got.Window); diff != "" || sum != tt.trips || got.Revenue != tt.revenue ||
				len(got.TripsByStatus) != 10 {
				t.Errorf("%d trips with %s, window %s; %+v", sum, got.Revenue, diff, got)
			}
		})
	}
}

func TestRefusedWindow(t *testing.T) {
	stand := apitest.New(t, testkit.Table(t), Rows()...)
	operator := stand.Token(stand.Tenant("USD", 1), authz.Dashboard, "usr_1", "VIEW_REPORTS")
	at := func(d time.Duration) string { return timestamp.Format(apitest.Start.Add(d)) }
	refused := map[string]struct {
		query  string
		fields []string
	}{
		"from is to":               {"from=" + at(0) + "&to=" + at(0), []string{"query.to"}},
		"from is to, exactly":      {"from=2026-03-01T11:59:59.9981Z&to=2026-03-01T11:59:59.9981Z", []string{"query.to"}},
		"from after to":            {"from=" + at(0) + "&to=" + at(-ms), []string{"query.to"}},
		"from after now":           {"from=" + at(ms), []string{"query.from"}},
		"more than 400 days":       {"from=" + at(-400*day-ms) + "&to=" + at(0), []string{"query.from"}},
		"no times":                 {"from=yesterday&to=2026-13-01T00:00:00Z", []string{"query.from", "query.to"}},
		"a month only":             {"from=2026-03", []string{"query.from"}},
		"empty":                    {"from=", []string{"query.from"}},
		"just before the year 10k": {"from=9999-12-31T00:00:00Z&to=9999-12-31T23:59:59.9999Z", []string{"query.to"}},
		"unknown":                  {"window=1", []string{"query.window"}},
	}
	for name, tt := range refused {
		t.Run(name, func(t *testing.T) {
			var body struct {
				Error   string
				Details []struct{ Field string }
			}
			stand.Want(400, &body, "GET", "/api/v1/reports/summary?"+tt.query, operator, "")
			var fields []string
			for _, d := range body.Details {
				fields = append(fields, d.Field)
			}
			slices.Sort(fields)
			if diff := cmp.Diff(tt.fields, fields); diff != "" || body.Error != "invalid_request" {
				t.Error(body.Error, diff)
			}
		})
	}
}

// TestOlderCounts: builds up to 2026-11 stored other counters. Until svc rebuild has counted
// their rides anew, the report shows the old counters and adds those of this build.
func TestOlderCounts(t *testing.T) {
	stand := apitest.New(t, testkit.Table(t), Rows()...)
	tenant := stand.Tenant("USD", 3)
	from := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	fare := decimal.RequireFromString
	older, changes := []string{"12.5", "0", "7.25"}, counter.Changes{}
	for i, text := range older {
		at := from.Add(time.Duration(i) * 26 * time.Hour)
		Requested(changes, trip.Completed, at)
		OlderRevenue(changes, fare(text), at)
	}
	Requested(changes, trip.Cancelled, from)
	want := func(days, rides int, revenue string) {
		t.Helper()
		got, err := Summarize(t.Context(), tenant, from, from.Add(time.Duration(days)*day), 3)
		testkit.Must(t, err)
		if got.CompletedTrips != int64(rides) || string(got.Revenue) != revenue {
			t.Errorf("%d days: %d rides for %s, want %d for %s", days, got.CompletedTrips, got.Revenue, rides, revenue)
		}
	}
	testkit.Must(t, tenant.Load(t.Context(), itemsOf(tenant, 0, changes)...))
	want(1, 1, "12.5")
	want(30, 3, "19.75")
	if all, err := All(t.Context(), tenant); err != nil || !all.Older || all.Trips != 4 {
		t.Errorf("%+v, %v", all, err)
	}
	next := counter.Changes{} // a ride of today's build in the same window
	Requested(next, trip.Completed, from.Add(time.Hour))
	Completed(next, fare("30"), from.Add(2*time.Hour))
	spread := counter.Changes{}
	for ref, sums := range next {
		if ref.Sharded {
			spread[ref] = sums
		}
	}
	testkit.Must(t, tenant.Load(t.Context(), itemsOf(tenant, 1, spread)...))
	want(1, 2, "42.5")
	want(30, 4, "49.75")
	for i, text := range older { // all are counted anew
		at := from.Add(time.Duration(i) * 26 * time.Hour)
		OlderRevenue(changes, fare(text).Neg(), at)
		Completed(changes, fare(text), at.Add(time.Hour))
	}
	testkit.Must(t, tenant.Load(t.Context(), itemsOf(tenant, 0, changes)...))
	want(1, 2, "42.5")
	want(30, 4, "49.75")
	if all, err := All(t.Context(), tenant); err != nil || all.Older {
		t.Errorf("%+v, %v", all, err)
	}
}
