package trip_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
	"svc/pkg/edge/api"
)

// populate loads random trips of few people, statuses and moments, many of
// them requested in the same millisecond.
func (w *town) populate(rnd *rand.Rand, n int) []trip.Trip {
	w.t.Helper()
	var trips []trip.Trip
	var items []table.Item
	for range n {
		at := now.Add(time.Duration(rnd.IntN(40)) * 250 * time.Millisecond)
		tr := trip.Trip{ID: ids.New(ids.Trip, at), TripCode: ids.Code(), Status: trip.Statuses[rnd.IntN(len(trip.Statuses))],
			CustomerID: w.riders[rnd.IntN(len(w.riders))], PaymentType: "CASH", OriginAddress: "12 Harbour Street",
			OriginLat: "1", OriginLng: "2",
			Currency: "USD", RequestedAt: timestamp.Format(at), UpdatedAt: timestamp.Format(at), Version: 1}
		if rnd.IntN(3) > 0 {
			tr.DriverID = &w.drivers[rnd.IntN(len(w.drivers))]
		}
		trips = append(trips, tr)
		items = append(items, tr.Item(w.tenant, w.shards))
	}
	w.load(items...)
	slices.SortFunc(trips, func(a, b trip.Trip) int {
		return strings.Compare(b.RequestedAt+"#"+b.ID,
			a.RequestedAt+"#"+a.ID)
	})
	return trips
}

// filters is a query in the form that the model uses.
type filters struct {
	status, driver, customer string
	from, to                 time.Time
}

func (f filters) hold(t trip.Trip) bool {
	at, _ := timestamp.Parse(t.RequestedAt)
	return (f.status == "" || string(t.Status) == f.status) && (f.customer == "" || t.CustomerID == f.customer) &&
		(f.driver == "" || (t.DriverID != nil && *t.DriverID == f.driver)) &&
		(f.from.IsZero() || !at.Before(f.from)) && (f.to.IsZero() || at.Before(f.to))
}

func (f filters) query(limit int) url.Values {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	for name, value := range map[string]string{"status": f.status, "driverId": f.driver, "customerId": f.customer} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if !f.from.IsZero() {
		q.Set("from", f.from.In(time.FixedZone("", 7200)).Format(time.RFC3339Nano))
	}
	if !f.to.IsZero() {
		q.Set("to", f.to.Format(time.RFC3339Nano))
	}
	return q
}

// pages follows the cursors to the end.
func (w *town) pages(q url.Values) (got []string) {
	w.t.Helper()
	for range 1000 {
		var page api.Page[trip.Trip]
		w.Want(200, &page, "GET", "/api/v1/trips?"+q.Encode(), w.operator, "")
		if limit, _ := strconv.Atoi(q.Get("limit")); len(page.Items) > limit {
			w.t.Fatalf("a page of %d with limit %d", len(page.Items), limit)
		}
		for _, t := range page.Items {
			got = append(got, t.ID)
		}
		if page.NextCursor == nil {
			return got
		}
		q.Set("cursor", *page.NextCursor)
	}
	w.t.Fatal("the pages do not end")
	return nil
}

// Every combination of filters, with every page size, returns the same trips as
// a scan of all trips: each once, newest first.
func TestListAgainstModel(t *testing.T) {
	testkit.LongHere(t)
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(shards), 7))
			w := newTown(t, shards, 3, 3)
			trips := w.populate(rnd, 160)
			other := settle(t, w.Stand, shards, 1, 1)
			other.populate(rnd, 20)
			for mask := range 32 {
				f := filters{}
				if mask&1 > 0 {
					f.status = string(trips[rnd.IntN(len(trips))].Status)
				}
				if mask&2 > 0 {
					f.driver = w.drivers[rnd.IntN(3)]
				}
				if mask&4 > 0 {
					f.customer = w.riders[rnd.IntN(3)]
				}
				if mask&8 > 0 {
					f.from = now.Add(time.Duration(rnd.IntN(20))*250*time.Millisecond + time.Duration(rnd.IntN(2)))
				}
				if mask&16 > 0 {
					f.to = now.Add(time.Duration(20+rnd.IntN(20))*250*time.Millisecond + time.Duration(rnd.IntN(2)))
				}
				var want []string
				for _, tr := range trips {
					if f.hold(tr) {
						want = append(want, tr.ID)
					}
				}
				q := f.query([]int{1, 3, 7, 50, 200}[rnd.IntN(5)])
				if diff := cmp.Diff(want, w.pages(q)); diff != "" {
					t.Fatalf("%s (-want +got):\n%s", q.Encode(), diff)
				}
			}
		})
	}
}

// The cost of a page is bounded, even if a filter drops most of a long list.
func TestFilteredPageIsBounded(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	var want []string
	var items []table.Item
	for i := range 1300 {
		at := now.Add(time.Duration(i) * time.Second)
		tr := trip.Trip{ID: ids.New(ids.Trip, at), Status: trip.Completed, CustomerID: w.riders[0], OriginLat: "1",
			OriginLng: "2", RequestedAt: timestamp.Format(at), Version: 1}
		if i == 0 || i == 1290 {
			tr.Status = trip.Pending
			want = append([]string{tr.ID}, want...)
		}
		items = append(items, tr.Item(w.tenant, 1))
	}
	w.load(items...)
	q := filters{customer: w.riders[0], status: "PENDING"}.query(10)
	var page api.Page[trip.Trip]
	w.Want(200, &page, "GET", "/api/v1/trips?"+q.Encode(), w.operator, "")
	if len(page.Items) != 1 || page.NextCursor == nil {
		t.Errorf("first page: %d items, cursor %v", len(page.Items), page.NextCursor)
	}
	if diff := cmp.Diff(want, w.pages(q)); diff != "" {
		t.Error(diff)
	}
}

func TestPagesHoldWhileTripsAreAdded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	w := newTown(t, 4, 2, 2)
	before := w.populate(rnd, 60)
	q := filters{}.query(7)
	seen := map[string]int{}
	for range 100 {
		var page api.Page[trip.Trip]
		w.Want(200, &page, "GET", "/api/v1/trips?"+q.Encode(), w.operator, "")
		for _, tr := range page.Items {
			seen[tr.ID]++
		}
		if page.NextCursor == nil {
			break
		}
		q.Set("cursor", *page.NextCursor)
		w.populate(rnd, 5)
	}
	for _, tr := range before {
		if seen[tr.ID] != 1 {
			t.Errorf("%s was shown %d times", tr.ID, seen[tr.ID])
		}
	}
	for id, n := range seen {
		if n > 1 {
			t.Errorf("%s was shown %d times", id, n)
		}
	}
}

func TestListRefuses(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	w.populate(rand.New(rand.NewPCG(1, 1)), 5)
	var page api.Page[trip.Trip]
	w.Want(200, &page, "GET", "/api/v1/trips?limit=2", w.operator, "")
	for query, want := range map[string][]string{
		"status=DONE":               {"query.status"},
		"limit=0":                   {"query.limit"},
		"limit=201":                 {"query.limit"},
		"limit=x&from=yesterday":    {"query.from", "query.limit"},
		"from=2026-02-30T00:00:00Z": {"query.from"},
		"from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z":           {"query.to"},
		"from=2026-03-01T00:00:00.0002Z&to=2026-03-01T00:00:00.0002Z": {"query.to"},
		"color=red":  {"query.color"},
		"cursor=abc": {"query.cursor"},
		"status=PENDING&cursor=" + *page.NextCursor: {"query.cursor"},
	} {
		t.Run(query, func(t *testing.T) {
			var body struct {
				Error   string
				Details []struct{ Field string }
			}
			w.Want(400, &body, "GET", "/api/v1/trips?"+query, w.operator, "")
			var got []string
			for _, d := range body.Details {
				got = append(got, d.Field)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" || body.Error != "invalid_request" {
				t.Errorf("%s\n%s", body.Error, diff)
			}
		})
	}
	for _, query := range []string{"driverId=nobody", "customerId=a%23b", "from=9999-12-31T23:59:59.9999Z",
		"from=2026-03-01T12:00:00.0001Z&to=2026-03-01T12:00:00.0002Z",
		"from=9999-12-31T23:59:59.9998Z&to=9999-12-31T23:59:59.9999Z"} {
		var empty api.Page[trip.Trip]
		w.Want(200, &empty, "GET", "/api/v1/trips?"+query, w.operator, "")
		if len(empty.Items) != 0 || empty.NextCursor != nil {
			t.Errorf("%s: got %d trips", query, len(empty.Items))
		}
	}
}

func TestMyTrips(t *testing.T) {
	w := newTown(t, 4, 2, 2)
	trips := w.populate(rand.New(rand.NewPCG(5, 5)), 60)
	for _, tc := range []struct {
		name string
		who  string
		f    filters
	}{{"rider", w.riders[0], filters{customer: w.riders[0]}}, {"driver", w.drivers[1], filters{driver: w.drivers[1]}}} {
		t.Run(tc.name, func(t *testing.T) {
			var want, got []string
			for _, tr := range trips {
				if tc.f.hold(tr) && len(want) < 9 {
					want = append(want, tr.ID)
				}
			}
			var list api.Items[trip.Trip]
			w.Want(200, &list, "GET", "/api/v1/me/trips?limit=9", w.tokens[tc.who], "")
			for _, tr := range list.Items {
				got = append(got, tr.ID)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if a := w.Do("GET", "/api/v1/me/trips", w.operator, ""); a.Status != 400 || a.Code() != "invalid_request" {
		t.Errorf("operator: got %d %s", a.Status, a.Body)
	}
	if a := w.Do("GET", "/api/v1/me/trips?cursor=x", w.rider(), ""); a.Status != 400 {
		t.Errorf("a cursor: got %d", a.Status)
	}
}
