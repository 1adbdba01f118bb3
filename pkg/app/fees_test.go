package app_test

import (
	"fmt"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/pkg/access/authz"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// TestFeesAreSettled: settlement hears of whatever it settles. Its subscription in the
// template passes a ride that was cancelled for a fee, by the rider or for a rider who did
// not come, as it passes a completed one.
func TestFeesAreSettled(t *testing.T) {
	s := newSuite(t)
	rider, driver := s.Token(t, s.actors[authz.Rider]), s.Token(t, s.actors[authz.Driver])
	fleet := s.Token(t, s.actors[authz.Dashboard])
	s.Patch(t, fleet, "/api/v1/settings", `{"pricing":{"chargeCancellation":true,"cancellationFee":4}}`).Must(t, 200)
	s.Clock.Advance(time.Minute) // a ride's settings may be a second old
	before := apptest.JSON[wallet.Mine](t, s.Get(t, rider, "/api/v1/me/wallet")).Balance
	for _, one := range []struct{ name, token, path, body, total string }{
		{"cancelled by the rider", rider, "me/trips/%s/cancel", "", "4"},
		{"not come", fleet, "trips/%s/cancel", `{"fee":true}`, "4"},
		{"cancelled for nothing", fleet, "trips/%s/cancel", "", ""},
	} {
		id := apptest.JSON[trip.Trip](t, s.Post(t, rider, "/api/v1/me/trips", ride).Must(t, 201)).ID
		s.Post(t, driver, "/api/v1/me/trips/"+id+"/accept", "").Must(t, 200)
		s.Post(t, one.token, "/api/v1/"+fmt.Sprintf(one.path, id), one.body).Must(t, 200)
		s.Drain(t)
		a := s.Get(t, rider, "/api/v1/me/trips/"+id+"/receipt")
		if one.total == "" {
			a.Must(t, 409)
			continue
		}
		if got := apptest.JSON[receipt.Shown](t, a.Must(t, 200)); got.Total == nil || string(*got.Total) != one.total {
			t.Errorf("%s: the receipt is %s", one.name, a.Body)
		}
	}
	if got := apptest.JSON[wallet.Mine](t, s.Get(t, rider, "/api/v1/me/wallet")); before != "0" || got.Balance != "-8" {
		t.Errorf("the rider's wallet went from %s to %s", before, got.Balance)
	}
}
