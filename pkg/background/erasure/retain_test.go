package erasure_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/background/erasure"
	"svc/pkg/data/audit"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/tenant"
)

// keeps reports which of the values are still in trips, positions or the audit log.
// Events and responses have their own, shorter life.
func keeps(t *testing.T, s *apptest.Service, values ...string) []string {
	t.Helper()
	var left []string
	for value, where := range scan(t, s, values) {
		if slices.ContainsFunc(where, func(item string) bool {
			return slices.ContainsFunc(strings.Fields("trip log receipt location driver audit"), func(kind string) bool {
				return strings.Contains(item, "type="+kind+" ")
			})
		}) {
			left = append(left, value)
		}
	}
	slices.Sort(left)
	return left
}

// later moves the clock and runs the jobs, as the schedule does.
func later(t *testing.T, s *apptest.Service, days int) {
	t.Helper()
	for range days {
		s.Clock.Advance(24 * time.Hour)
		testkit.Must(t, s.Runtime.Scheduled()["JobsFunction"](t.Context()))
	}
}

// ride requests a trip whose addresses and notes have the word, and returns its path.
func ride(t *testing.T, s *apptest.Service, token, word string) string {
	t.Helper()
	made := apptest.JSON[struct{ ID string }](t, s.Post(t, token, "/api/v1/me/trips", fmt.Sprintf(`{"originAddress":
		"%[1]s Row", "originLat": 40.712345, "originLng": -74.006789, "destAddress": "%[1]s Wharf", "destLat": 40.71,
		"destLng": -74.01, "paymentType": "CASH", "notes": "%[1]s umbrella"}`, word)).Must(t, 201))
	return "/api/v1/me/trips/" + made.ID
}

// TestRetention: a tenant's data is there until its day and gone after it. A trip that
// ends late is kept from its end on. A tenant with the defaults keeps everything.
func TestRetention(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	s := apptest.New(t)
	for _, slug := range []string{"metro", "harbor"} {
		rider := s.Token(t, s.Rider(t, slug, "anna"))
		s.Post(t, rider, ride(t, s, rider, slug)+"/cancel", fmt.Sprintf(`{"reason": "%s changed"}`, slug)).Must(t, 200)
		token := s.Token(t, s.Driver(t, slug, "dan"))
		s.Do(t, apptest.Request{Method: http.MethodPut, Path: "/api/v1/me/location", Token: token,
			Body: fmt.Sprintf(`{"lat": 40.%s, "lng": -74.006166, "recordedAt": %q}`,
				map[string]string{"metro": "711111", "harbor": "722222"}[slug], s.Clock.Now().UTC().Format(time.RFC3339))}).
			Must(t, 200)
	}
	late := s.Rider(t, "metro", "late")
	open := ride(t, s, s.Token(t, late), "late")
	s.Drain(t)
	s.Change(t, "metro", func(n *tenant.Tenant) {
		n.Retain = tenant.Retention{Addresses: 30, Positions: 10, Logs: 20, Audit: 90}
	})
	metro := []string{"40.711111", "metro Row", "metro Wharf", "metro changed", "metro umbrella"}
	others := []string{"40.722222", "harbor Row", "harbor Wharf", "harbor changed", "harbor umbrella", "late Row",
		"late umbrella"}
	check := func(want ...string) {
		t.Helper()
		slices.Sort(want)
		if got := keeps(t, s, slices.Concat(metro, others)...); !slices.Equal(got, want) {
			t.Errorf("at %v there is\n%q, want\n%q", s.Clock.Now(), got, want)
		}
	}
	later(t, s, 9)
	check(slices.Concat(metro, others)...)
	later(t, s, 3)
	check(slices.Concat(metro[1:], others)...)
	later(t, s, 10)
	check(slices.Concat(metro[1:3], others)...)
	later(t, s, 10)
	check(others...)
	s.Post(t, s.SignIn(t, late).AccessToken, open+"/cancel", `{}`).Must(t, 200)
	later(t, s, 19)
	check(others...)
	later(t, s, 3)
	check(others[:6]...)
	later(t, s, 10)
	check(others[:5]...)
	s.Drain(t)
	verify(t, s)
}

// TestRetentionOfAudit: an entry of the audit log is deleted when its days are over. A
// change of the days applies to stored entries too. A tenant that keeps everything again
// loses nothing more.
func TestRetentionOfAudit(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	s := apptest.New(t)
	retain := func(r tenant.Retention) {
		s.Change(t, "metro", func(n *tenant.Tenant) { n.Retain = r })
		testkit.Must(t, s.Runtime.Scheduled()["JobsFunction"](t.Context()))
	}
	s.Change(t, "metro", func(n *tenant.Tenant) { n.Name = "Zyzzyva Rides" })
	s.Change(t, "metro", func(n *tenant.Tenant) { n.Name = "Metro" })
	s.Clock.Advance(91 * 24 * time.Hour)
	retain(tenant.Retention{Audit: 100})
	if got := keeps(t, s, "Zyzzyva"); len(got) != 1 {
		t.Error("an entry ended before its day")
	}
	retain(tenant.Retention{Audit: 90, Addresses: 30})
	if got := keeps(t, s, "Zyzzyva"); len(got) != 0 {
		t.Error("an entry is there after its day")
	}
	retain(tenant.Retention{})
	later(t, s, 2)
	rider := s.Token(t, s.Rider(t, "metro", "anna"))
	s.Post(t, rider, ride(t, s, rider, "former")+"/cancel", `{}`).Must(t, 200)
	s.Clock.Advance(31 * 24 * time.Hour)
	later(t, s, 1)
	if got := keeps(t, s, "former Row"); len(got) != 1 {
		t.Error("a tenant that keeps everything again lost an address")
	}
}

// TestRetentionInSlices: slices at the same time, each of one trip, leave nothing
// out.
func TestRetentionInSlices(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	rider := s.Token(t, s.Rider(t, "metro", "anna"))
	values := []string{"one Row", "two Row", "three Row"}
	for _, word := range strings.Fields("one two three") {
		s.Post(t, rider, ride(t, s, rider, word)+"/cancel", `{}`).Must(t, 200)
	}
	s.Clock.Advance(8 * 24 * time.Hour)
	s.Change(t, "metro", func(n *tenant.Tenant) { n.Retain = tenant.Retention{Addresses: 7} })
	r := erasure.Runner{DB: s.DB, Files: s.Runtime.Files, Now: s.Clock.Now, AtOnce: 1}
	testkit.Must(t, r.Sweep(t.Context()))
	done := make(chan error, 3)
	for range cap(done) {
		go func() {
			more, err := true, error(nil)
			for more && err == nil {
				more, err = r.Slice(t.Context(), s.Tenant("metro"), "retention")
			}
			done <- err
		}()
	}
	for range cap(done) {
		testkit.Must(t, <-done)
	}
	testkit.Must(t, s.Runtime.Scheduled()["JobsFunction"](t.Context()))
	if got := keeps(t, s, values...); len(got) != 0 {
		t.Errorf("after the retention there is %q", got)
	}
}

// TestRetentionOfOrders: where an order was delivered is gone with the addresses of
// trips, and never was in the audit log. An order that ends late is kept from its end on.
func TestRetentionOfOrders(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	s := apptest.New(t)
	metro, by := s.Tenant("metro"), audit.By{Who: "svc:test", At: s.Clock.Now()}
	s.Change(t, "metro", func(n *tenant.Tenant) { n.Retain, n.DeliveryEnabled = tenant.Retention{Addresses: 30}, true })
	deli, err := delivery.AddBusiness(t.Context(), metro, by, delivery.Business{Name: "Deli", Category: "shop",
		Address: "1 Quay", Lat: "40.7", Lng: "-74", Active: true})
	testkit.Must(t, err)
	anna, orders := s.Rider(t, "metro", "anna"), map[string]string{}
	for word, status := range map[string]string{"Basilisk Row": "CANCELLED", "Gorgon Wharf": "PREPARING"} {
		o, err := delivery.AddOrder(t.Context(), metro, by, delivery.Order{BusinessID: deli.ID, CustomerID: anna.ID,
			Currency: "USD", Status: status, DeliveryAddress: word,
			Items: []delivery.Line{{Name: "Tea", Quantity: 1, UnitPrice: "2"}}})
		testkit.Must(t, err)
		orders[word] = "/api/v1/orders/" + o.ID
	}
	check := func(want ...string) {
		t.Helper()
		found := scan(t, s, []string{"Basilisk Row", "Gorgon Wharf"})
		for value, where := range found {
			if !slices.Contains(want, value) || strings.Contains(strings.Join(where, " "), "type=audit") {
				t.Errorf("at %v %q is in %q", s.Clock.Now(), value, where)
			}
		}
		if len(found) != len(want) {
			t.Errorf("at %v there is %v, want %q", s.Clock.Now(), found, want)
		}
	}
	later(t, s, 29)
	check("Basilisk Row", "Gorgon Wharf")
	later(t, s, 3)
	check("Gorgon Wharf")
	boss := s.SignIn(t, s.Operator(t, "metro", "boss")).AccessToken
	s.Patch(t, boss, orders["Gorgon Wharf"], `{"status": "DELIVERED"}`).Must(t, 200)
	s.Patch(t, boss, orders["Basilisk Row"], `{"status": "CANCELLED"}`).Must(t, 200) // changes nothing
	later(t, s, 9)
	check("Gorgon Wharf")
	later(t, s, 23)
	check()
}
