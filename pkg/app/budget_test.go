package app_test

import (
	"fmt"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/domain/tenant"
)

// budget is the maximum cost of one request (docs/design.md): sequential round
// trips, read units, write units on the table itself.
type budget struct {
	trips         int
	reads, writes float64
}

func (b budget) hold(t *testing.T, what string, a apptest.Answer) {
	t.Helper()
	u := a.Seen.Usage
	if u.Sequential == 0 {
		t.Errorf("%s: nothing was counted", what)
	}
	if u.Sequential > b.trips || u.ReadUnits > b.reads || testkit.WriteUnits(u) > b.writes {
		t.Errorf("%s: %d round trips, %.1f read and %.1f write units; budget %+v", what, u.Sequential, u.ReadUnits,
			testkit.WriteUnits(u), b)
	}
	t.Logf("%-60s %d round trips, %4.1f RU, %4.1f WU (+%.1f on indexes)", what, u.Sequential, u.ReadUnits,
		testkit.WriteUnits(u), u.IndexUnits)
}

// TestBudgets counts the cost of every endpoint.
func TestBudgets(t *testing.T) {
	s := newSuite(t)
	op, rider, driver := s.Token(t, s.actors[authz.Dashboard]), s.Token(t, s.actors[authz.Rider]),
		s.Token(t, s.actors[authz.Driver])
	service := s.ServiceType(t, "metro", "0.2")
	request := fmt.Sprintf(`{"originAddress":"350 5th Ave","originLat":40.7484,"originLng":-73.9857,"destAddress":"JFK","destLat":40.6,"destLng":-73.7,"serviceTypeId":%q}`, service)
	var ids []string
	for range 60 {
		ids = append(ids, apptest.JSON[struct{ ID string }](t, s.Post(t, rider, "/api/v1/me/trips", request).Must(t, 201)).ID)
	}
	// shards and keys are known from here on
	for _, path := range []string{"trips", "drivers", "settings", "wallets", "businesses", "feedback", "me"} {
		s.Get(t, op, "/api/v1/"+path).Must(t, 200)
	}
	s.Get(t, rider, "/api/v1/me").Must(t, 200)
	s.Get(t, driver, "/api/v1/me").Must(t, 200)
	s.Wire.Rounds(true)
	// an entry is at most a KiB, read eventually consistent
	page := func(items int) float64 { return 5 + float64(items)*0.5 }
	for _, c := range []struct {
		token, path string
		b           budget
	}{
		{op, "/api/v1/trips?limit=50", budget{1, page(51), 0}},
		{op, "/api/v1/trips?status=PENDING&limit=20", budget{1, page(21), 0}},
		{op, "/api/v1/trips?customerId=" + s.actors[authz.Rider].ID + "&limit=20", budget{1, page(21), 0}},
		{op, "/api/v1/trips?customerId=" + s.actors[authz.Rider].ID + "&status=COMPLETED", budget{2, page(150), 0}},
		{op, "/api/v1/trips/" + ids[0], budget{2, 12, 0}},
		{op, "/api/v1/drivers", budget{1, page(5), 0}},
		{op, "/api/v1/drivers?status=OFFLINE", budget{1, page(5), 0}},
		{op, "/api/v1/customers", budget{1, page(3), 0}},
		{op, "/api/v1/settings", budget{1, page(6), 0}},
		{op, "/api/v1/services", budget{1, page(4), 0}},
		{op, "/api/v1/zones", budget{1, page(4), 0}},
		{op, "/api/v1/branding", budget{1, page(2), 0}},
		{op, "/api/v1/reports/summary", budget{2, 80, 0}},
		{op, "/api/v1/wallets", budget{1, page(6), 0}},
		{op, "/api/v1/wallets?type=driver&detail=1", budget{1, page(6), 0}},
		{op, "/api/v1/businesses", budget{1, page(3), 0}},
		{op, "/api/v1/orders", budget{1, page(3), 0}},
		{op, "/api/v1/feedback", budget{2, page(60), 0}},
		{op, "/api/v1/me", budget{2, page(3), 0}},
		{rider, "/api/v1/me", budget{1, 5, 0}},
		{driver, "/api/v1/me", budget{1, 5, 0}},
		{rider, "/api/v1/me/trips?limit=20", budget{1, page(21), 0}},
		{rider, "/api/v1/me/addresses", budget{1, page(3), 0}},
		{rider, "/api/v1/me/wallet", budget{1, page(22), 0}},
		{rider, "/api/v1/me/payment-methods", budget{1, page(3), 0}},
		{rider, "/api/v1/me/orders", budget{1, page(3), 0}},
	} {
		c.b.hold(t, "GET "+c.path, s.Get(t, c.token, c.path).Must(t, 200))
	}
	holdTrips(t, s, rider, driver, request, ids)
	holdSaves(t, s, op, rider)
}

// holdSaves counts what changes of the branding and of an address cost.
func holdSaves(t *testing.T, s *suite, op, rider string) {
	t.Helper()
	save := budget{2, 7, 4}
	// The first change creates the branding, the second one replaces it.
	for _, body := range []string{`{"appName":"Metro"}`, `{"appName":"Metro Rides","themeMode":"dark"}`} {
		save.hold(t, "PATCH /branding", s.Patch(t, op, "/api/v1/branding", body).Must(t, 200))
	}
	// The item has the logo, the audit entry only the colours.
	logo := `{"logoUrl":"data:image/png;base64,` + strings.Repeat("iVBORw0K", 180) + `"}`
	s.Patch(t, op, "/api/v1/branding", logo).Must(t, 200)
	large := budget{2, 7, 6}
	large.hold(t, "PATCH /branding with a logo",
		s.Patch(t, op, "/api/v1/branding", `{"primaryColor":"#123"}`).Must(t, 200))
	for range 2 { // a new one, and the same again
		save.hold(t, "POST /me/addresses", s.Post(t, rider, "/api/v1/me/addresses",
			`{"address":"Home","lat":1.5,"lng":2.5}`).Must(t, 201))
	}
}

// holdTrips counts what the steps of a trip cost. request is the body of a new
// trip; ids are the ids of requested trips.
func holdTrips(t *testing.T, s *suite, rider, driver, request string, ids []string) {
	t.Helper()
	// It writes the trip and the rider's open trips, which are few.
	requested, other := budget{2, 7, 4}, s.Token(t, s.Rider(t, "metro", "rex"))
	s.Post(t, other, "/api/v1/me/trips", request).Must(t, 201) // marks the flags
	requested.hold(t, "POST /me/trips", s.Post(t, other, "/api/v1/me/trips", request).Must(t, 201))
	// Only the trip is written, because its log follows from the trip.
	transition := budget{2, 7, 2}
	for _, action := range []string{"accept", "arrived", "start", "complete"} {
		transition.hold(t, "POST "+action, s.Post(t, driver, "/api/v1/me/trips/"+ids[0]+"/"+action, "{}").Must(t, 200))
	}
	transition.hold(t, "POST cancel", s.Post(t, rider, "/api/v1/me/trips/"+ids[1]+"/cancel", "{}").Must(t, 200))
	s.Drain(t) // settlement changes the driver's item, and a conflict would cost two round trips
	status := budget{2, 7, 4}
	status.hold(t, "PATCH status", s.Patch(t, driver, "/api/v1/me/status", `{"online":true}`).Must(t, 200))
	// A key needs two more reads (one for the key as version 1.1.0 stored it) and one more write.
	keyedBudget := budget{2, 9, 4}
	keyedBudget.hold(t, "POST accept with Idempotency-Key",
		s.Do(t, keyed(driver, "/api/v1/me/trips/"+ids[2]+"/accept", "", "k")).Must(t, 200))
}

// TestListsDoNotGrow: a page costs the same in a tenant with few trips and in
// one with many.
func TestListsDoNotGrow(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	s.Change(t, "metro", func(n *tenant.Tenant) { n.MaxOpenTrips = tenant.NoOpenTripsLimit })
	op, rider := s.Token(t, s.actors[authz.Dashboard]), s.Token(t, s.actors[authz.Rider])
	cost := func() []float64 {
		var out []float64
		for _, path := range []string{"/api/v1/trips?limit=5", "/api/v1/trips?limit=5&status=PENDING",
			"/api/v1/trips?limit=5&customerId=" + s.actors[authz.Rider].ID} {
			out = append(out, s.Get(t, op, path).Must(t, 200).Seen.Usage.ReadUnits)
		}
		return append(out, s.Get(t, rider, "/api/v1/me/trips?limit=5").Must(t, 200).Seen.Usage.ReadUnits)
	}
	request := func(n int) {
		for range n {
			s.Post(t, rider, "/api/v1/me/trips", ride).Must(t, 201)
		}
	}
	request(10)
	cost()
	few := cost()
	request(200)
	many := cost()
	for i := range few {
		if many[i] > few[i]+0.5 {
			t.Errorf("list %d: %.1f read units with ten trips, %.1f with 210", i, few[i], many[i])
		}
	}
}
