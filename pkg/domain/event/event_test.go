package event_test

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
)

// stand serves the feed of a tenant.
type stand struct {
	*apitest.Stand
	t        *testing.T
	tenant   table.Tenant
	operator string
	wire     *testkit.Wire
}

func newStand(t *testing.T, shards int) *stand {
	t.Helper()
	wire := &testkit.Wire{}
	s := &stand{Stand: apitest.New(t, testkit.TableOnWire(t, wire), event.Rows()...), t: t, wire: wire}
	s.tenant, s.operator = s.join(shards)
	return s
}

func (s *stand) join(shards int) (table.Tenant, string) {
	n := s.Tenant("USD", shards)
	return n, s.Token(n, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_EVENTS")
}

// append appends one event of a new resource for each name.
func (s *stand) append(shard int, resources ...string) {
	s.t.Helper()
	for _, id := range resources {
		heads, err := event.Heads(s.t.Context(), s.tenant, []int{shard})
		testkit.Must(s.t, err)
		stored, err := s.tenant.Get(s.t.Context(), event.EmittedKey(s.tenant, s.tenant.Key("TRIP", id, "TRIP")))
		testkit.Must(s.t, err)
		kind := "trip.requested"
		if stored.Found() {
			kind = "trip.accepted"
		}
		e := event.New(kind, id, kind, timestamp.Format(s.Now()), event.Data{TripID: id, CustomerID: "cus_" + id, Version: 1})
		testkit.Must(s.t, event.Append(s.t.Context(), s.tenant, shard, heads[0], []event.Piece{{Stored: stored,
			Events: []event.Event{e}}}, s.Now()))
	}
}

// read reads a page, and returns the resources of its events and the page.
func (s *stand) read(token, path string) ([]string, event.Feed) {
	s.t.Helper()
	var page event.Feed
	s.Want(200, &page, "GET", path, token, "")
	out := []string{}
	for _, e := range page.Items {
		out = append(out, e.Resource)
	}
	if page.Cursor == "" {
		s.t.Error("the cursor is empty")
	}
	return out, page
}

func (s *stand) want(got []string, want ...string) {
	s.t.Helper()
	if !slices.Equal(got, want) {
		s.t.Errorf("got %q, want %q", got, want)
	}
}

func after(cursor string) string { return "after=" + url.QueryEscape(cursor) }

func TestPages(t *testing.T) {
	s := newStand(t, 1)
	got, page := s.read(s.operator, "/api/v1/events")
	s.want(got)
	_, latest := s.read(s.operator, "/api/v1/events?after=latest")
	s.append(0, "a", "b", "c", "a")
	got, page = s.read(s.operator, "/api/v1/events?limit=3&"+after(page.Cursor))
	s.want(got, "a", "b", "c")
	if !page.HasMore {
		t.Error("no more")
	}
	got, page = s.read(s.operator, "/api/v1/events?limit=3&"+after(page.Cursor))
	if s.want(got, "a"); page.HasMore {
		t.Error("more than all")
	}
	got, _ = s.read(s.operator, "/api/v1/events?"+after(latest.Cursor))
	s.want(got, "a", "b", "c", "a")
	got, latest = s.read(s.operator, "/api/v1/events?after=latest")
	s.want(got)
	s.append(0, "d")
	got, _ = s.read(s.operator, "/api/v1/events?"+after(latest.Cursor))
	s.want(got, "d")
	got, _ = s.read(s.operator, "/api/v1/events?resource=a")
	s.want(got, "a", "a")
	for query, status := range map[string]int{"limit=0": 400, "limit=1": 200, "limit=200": 200, "limit=201": 400} {
		s.Want(status, nil, "GET", "/api/v1/events?"+query, s.operator, "")
	}
	got, page = s.read(s.operator, "/api/v1/events?type=trip.accepted&limit=1")
	s.want(got, "a")
	s.append(0, "b")
	got, _ = s.read(s.operator, "/api/v1/events?type=trip.accepted&"+after(page.Cursor))
	s.want(got, "b")
}

// TestEmptyPollCostsHalfAUnit: a client that polls and finds nothing costs the
// checks and half a read unit.
func TestEmptyPollCostsHalfAUnit(t *testing.T) {
	s := newStand(t, 1)
	s.append(0, "a", "b")
	_, page := s.read(s.operator, "/api/v1/events")
	var polled table.Usage
	s.wire.Rounds(true)
	for range 5 { // one of them may read again what an instance reads once a second
		s.read(s.operator, "/api/v1/events?"+after(page.Cursor))
		if polled = s.Last().Usage; polled.Requests == 1 {
			break
		}
	}
	s.read(s.operator, "/api/v1/events?limit=1&"+after(page.Cursor))
	const checks = 5
	if polled.ReadUnits > checks+0.5 || polled.Sequential > 1 || polled.WriteUnits > 0 {
		t.Errorf("an empty poll costs %+v", polled)
	}
}

func TestCursorIsBoundToTenantAndFilters(t *testing.T) {
	s := newStand(t, 1)
	s.append(0, "a", "b")
	_, page := s.read(s.operator, "/api/v1/events?limit=1")
	rider := ids.New(ids.Customer, apitest.Start)
	testkit.Must(t, s.tenant.Load(t.Context(), customer.Item(s.tenant, customer.Record{
		Customer: customer.Customer{ID: rider, Name: "Rita", CreatedAt: "2026-01-01T00:00:00.000Z"}}, 1)))
	_, other := s.join(1)
	garbage := s.Want(400, nil, "GET", "/api/v1/events?after=garbage", other, "").Body
	for path, token := range map[string]string{
		"/api/v1/events?" + after(page.Cursor):                      other,
		"/api/v1/events?type=trip.settled&" + after(page.Cursor):    s.operator,
		"/api/v1/events?resource=a&" + after(page.Cursor):           s.operator,
		"/api/v1/me/events?" + after(page.Cursor):                   s.Token(s.tenant, authz.Rider, rider),
		"/api/v1/events?" + after(page.Cursor[:len(page.Cursor)-1]): s.operator,
		"/api/v1/events?" + after(page.Cursor+"AAAA"):               s.operator,
		"/api/v1/events?after=Latest":                               s.operator,
	} {
		if got := s.Want(400, nil, "GET", path, token, "").Body; got != garbage {
			t.Errorf("%s: %s; want the bytes of any other wrong cursor, %s", path, got, garbage)
		}
	}
	s.Want(400, nil, "GET", "/api/v1/events?type=trip.gone", s.operator, "")
	got, _ := s.read(other, "/api/v1/events")
	s.want(got)
}

func TestOwnEvents(t *testing.T) {
	s := newStand(t, 2)
	rider := ids.New(ids.Customer, apitest.Start)
	testkit.Must(t, s.tenant.Load(t.Context(), customer.Item(s.tenant, customer.Record{
		Customer: customer.Customer{ID: rider, Name: "Rita", CreatedAt: "2026-01-01T00:00:00.000Z"}}, 1)))
	mine := rider[len("cus_"):]
	for i := range 30 {
		s.append(i%2, fmt.Sprint("x", i))
		if i%10 == 0 {
			s.Advance(time.Second)
			s.append(i%2, mine)
		}
	}
	token := s.Token(s.tenant, authz.Rider, rider)
	got, page := s.read(token, "/api/v1/me/events?limit=2")
	if s.want(got, mine, mine); !page.HasMore {
		t.Error("no more")
	}
	got, page = s.read(token, "/api/v1/me/events?"+after(page.Cursor))
	s.want(got, mine)
	s.append(1, mine, "y")
	got, _ = s.read(token, "/api/v1/me/events?"+after(page.Cursor))
	s.want(got, mine)
	s.Want(403, nil, "GET", "/api/v1/me/events", s.operator, "")
	s.Want(403, nil, "GET", "/api/v1/events", token, "")
}

// TestExpired: a cursor whose next event has expired gets a 410, whether or not
// the table has deleted the event. earliest begins at the first event that is left.
func TestExpired(t *testing.T) {
	for _, deleted := range []int{0, 3, 5, 8} {
		t.Run(fmt.Sprint(deleted, " deleted"), func(t *testing.T) {
			s := newStand(t, 1)
			_, begin := s.read(s.operator, "/api/v1/events")
			s.append(0, "a", "b", "c", "d", "e")
			_, fifth := s.read(s.operator, "/api/v1/events")
			s.Advance(29 * 24 * time.Hour)
			s.append(0, "f", "g", "h")
			_, all := s.read(s.operator, "/api/v1/events")
			s.Advance(2 * 24 * time.Hour)
			if deleted > 5 {
				s.Advance(31 * 24 * time.Hour)
			}
			token := s.Token(s.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_EVENTS")
			for n := range deleted {
				tx := s.tenant.Write()
				tx.Delete(event.Key(s.tenant, 0, int64(n+1)))
				testkit.Must(t, tx.Commit(t.Context()))
			}
			if got := s.Want(410, nil, "GET", "/api/v1/events?"+after(begin.Cursor), token, ""); got.Code() != "cursor_expired" {
				t.Error(got.Body)
			}
			got, _ := s.read(token, "/api/v1/events?"+after(all.Cursor))
			s.want(got)
			got, _ = s.read(token, "/api/v1/events")
			if deleted > 5 {
				s.want(got)
				s.Want(410, nil, "GET", "/api/v1/events?"+after(fifth.Cursor), token, "")
				return
			}
			s.want(got, "f", "g", "h")
			got, _ = s.read(token, "/api/v1/events?"+after(fifth.Cursor))
			s.want(got, "f", "g", "h")
		})
	}
}

// TestCursorAheadOfTheFeed: after a restore to an earlier time, a cursor beyond the
// newest event would miss the events that come. It gets a 410.
func TestCursorAheadOfTheFeed(t *testing.T) {
	s := newStand(t, 1)
	s.append(0, "a", "b")
	_, page := s.read(s.operator, "/api/v1/events")
	it, err := s.tenant.Get(t.Context(), event.HeadKeys(s.tenant, []int{0})[0])
	testkit.Must(t, err)
	it.Attrs = map[string]any{"last": 1}
	testkit.Must(t, s.tenant.Load(t.Context(), it))
	s.Want(410, nil, "GET", "/api/v1/events?"+after(page.Cursor), s.operator, "")
}

// TestUnitsOfAShard: an event costs its shard two write units, and each transaction two
// more for the head. With 1,000 units a second for each key, the shards of one tenant
// take 10,000 events a second, also with one event in each transaction.
func TestUnitsOfAShard(t *testing.T) {
	s := newStand(t, 1)
	for _, n := range []int{1, event.MaxAppended} {
		heads, err := event.Heads(t.Context(), s.tenant, []int{0})
		testkit.Must(t, err)
		id := fmt.Sprint("trp_", n)
		var some []event.Event
		for i := range n {
			some = append(some, event.New("trip.requested", id, fmt.Sprint(i), timestamp.Format(s.Now()),
				event.Data{TripID: id}))
		}
		record := table.Item{Key: event.EmittedKey(s.tenant, s.tenant.Key("TRIP", id, "TRIP"))}
		ctx, meter := table.Metered(t.Context())
		testkit.Must(t, event.Append(ctx, s.tenant, 0, heads[0], []event.Piece{{Stored: record, Events: some}}, s.Now()))
		units := testkit.WriteUnits(meter.Usage()) - 2 // the record of the resource has another key
		if testkit.OnDynamoDBLocal() {
			units = max(units, float64(2*n+2)) // it tells less of a transaction
		}
		if units != float64(2*n+2) {
			t.Errorf("%d events cost their shard %v write units", n, units)
		}
		if got := 1000 / units * float64(n) * tenant.MaxShards; got < 10_000 {
			t.Errorf("in transactions of %d events, %.0f events a second", n, got)
		}
	}
}
