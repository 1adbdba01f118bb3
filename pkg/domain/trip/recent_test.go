package trip_test

import (
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
)

// offer stores a service type.
func (w *town) offer(id, rate string, active bool) {
	w.load(table.Item{Key: w.tenant.Key("SETTINGS", "SERVICE#"+id), Type: "service",
		Attrs: map[string]any{"active": active, "commissionRate": money.Amount(rate)}, Doc: map[string]any{"id": id}})
}

// rate requests a ride and returns the commission rate on the trip, "" if the
// service type is rejected.
func (w *town) rate(service string) string {
	w.t.Helper()
	body := strings.TrimSuffix(ride, "}") + `,"serviceTypeId":"` + service + `"}`
	a := w.Do("POST", "/api/v1/me/trips", w.rider(), body)
	if a.Status == 400 && strings.Contains(a.Body, `"field":"body.serviceTypeId"`) {
		return ""
	}
	if a.Status != 201 {
		w.t.Fatalf("got %d %s", a.Status, a.Body)
	}
	var got trip.Trip
	a.Decode(w.t, &got)
	return string(*w.stored(got.ID).CommissionRate)
}

// All rides of a tenant share the item of their service type. An instance reads
// it at most once a second, however many rides are requested.
func TestRidesReadTheirServiceTypeOnceASecond(t *testing.T) {
	w := newTown(t, 4, 1, 1)
	testkit.InRounds(t, w.DB)
	id := w.service(true)
	w.rate(id) // the first ride reads the zones too
	w.Advance(time.Second)
	w.rate(id)
	first := w.Last().Usage.ReadUnits
	for range 3 {
		w.rate(id)
		if got := w.Last().Usage; got.ReadUnits != first-1 || got.Sequential != 2 {
			t.Errorf("%.1f read units in %d round trips, want %.1f in 2", got.ReadUnits, got.Sequential, first-1)
		}
		w.Advance(300 * time.Millisecond)
	}
	w.Advance(100 * time.Millisecond)
	if w.rate(id); w.Last().Usage.ReadUnits != first {
		t.Errorf("%.1f read units a second later, want %.1f", w.Last().Usage.ReadUnits, first)
	}
}

// A changed service type takes effect at most a second later, even if rides use
// it all the time. A new service type takes effect at once.
func TestServiceTypeIsAtMostASecondOld(t *testing.T) {
	w := newTown(t, 4, 1, 1)
	id := ids.New(ids.Service, now)
	for _, step := range []struct {
		what    string
		change  func()
		advance time.Duration
		want    string
	}{
		{"unknown", func() {}, 0, ""},
		{"added", func() { w.offer(id, "0.1", true) }, 0, "0.1"},
		{"changed", func() { w.offer(id, "0.2", true) }, 600 * time.Millisecond, "0.1"},
		{"used since", func() {}, 399 * time.Millisecond, "0.1"},
		{"a second old", func() {}, time.Millisecond, "0.2"},
		{"switched off", func() { w.offer(id, "0.2", false) }, 999 * time.Millisecond, "0.2"},
		{"off for a second", func() {}, time.Millisecond, ""},
		{"switched on", func() { w.offer(id, "0.3", true) }, time.Second, "0.3"},
		{"the clock goes back", func() { w.offer(id, "0.4", true) }, -time.Millisecond, "0.4"},
	} {
		step.change()
		w.Advance(step.advance)
		if got := w.rate(id); got != step.want {
			t.Errorf("%s: the rate is %q, want %q", step.what, got, step.want)
		}
	}
}

// A service type that one tenant's rides have read is not available to another
// tenant.
func TestRecentServiceTypeIsItsTenantsAlone(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	other := settle(t, w.Stand, 1, 1, 1)
	id := w.service(true)
	if w.rate(id) == "" || other.rate(id) != "" {
		t.Error("a tenant requested a ride with another's service type")
	}
}
