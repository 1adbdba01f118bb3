package app_test

import (
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/domain/trip"
	"svc/pkg/oauth/flow"
)

// TestClockStepsBack sets the clock of a running process back, as time
// synchronization does, amid a ride. Nothing that happened is undone: a revoked
// token stays revoked, a used key is answered again, and the ride is finished and
// paid once. People sign in and are not locked out. When the clock is right again,
// everything goes on.
func TestClockStepsBack(t *testing.T) {
	testkit.Long(t)
	for _, back := range []time.Duration{2 * time.Minute, 3 * time.Hour, 50 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			t.Parallel()
			stepBack(t, newSuite(t), back)
		})
	}
}

func stepBack(t *testing.T, s *suite, back time.Duration) {
	t.Helper()
	rider, driver := s.actors[authz.Rider], s.actors[authz.Driver]
	before, revoked := s.SignIn(t, rider), s.SignIn(t, rider)
	s.Do(t, posted("/oauth/revoke", "token", revoked.AccessToken, "client_id", revoked.ClientID)).Must(t, 200)
	body := strings.TrimSuffix(ride, "}") + `,"paymentType":"WALLET"}`
	request := keyed(before.AccessToken, "/api/v1/me/trips", body, "back")
	first := s.Do(t, request).Must(t, 201)
	id := apptest.JSON[trip.Trip](t, first).ID
	s.Ride(t, "", s.SignIn(t, driver).AccessToken, script.Ride{ID: id}, "accept")

	s.Clock.Advance(-back)
	after := s.SignIn(t, rider)
	s.Get(t, after.AccessToken, "/api/v1/me").Must(t, 200)
	if a := s.Get(t, revoked.AccessToken, "/api/v1/me"); a.Status != 401 {
		t.Errorf("the revoked token: %d %s", a.Status, a.Body)
	}
	request.Token = after.AccessToken
	if a := s.Do(t, request).Must(t, 201); apptest.JSON[trip.Trip](t, a).ID != id {
		t.Errorf("the key was used again: %s", a.Body)
	}
	refreshed := apptest.JSON[flow.Tokens](t, s.Do(t, posted("/oauth/token", "grant_type", "refresh_token",
		"refresh_token", after.RefreshToken, "client_id", after.ClientID)).Must(t, 200))
	for range 30 { // a bucket of the rate limit that was filled later than now still fills
		s.Get(t, refreshed.AccessToken, "/api/v1/me").Must(t, 200)
	}
	s.Ride(t, "", s.SignIn(t, driver).AccessToken, script.Ride{ID: id, Fare: "18.5"}, script.Steps[2:]...)
	s.Drain(t)
	wallet := s.Get(t, after.AccessToken, "/api/v1/me/wallet").Must(t, 200)
	if n := strings.Count(string(wallet.Body), `"type":"TRIP_PAYMENT"`); n != 1 {
		t.Errorf("the ride was paid %d times: %s", n, wallet.Body)
	}
	if trips := s.Get(t, after.AccessToken, "/api/v1/me/trips").Must(t, 200); !strings.Contains(string(trips.Body), id) {
		t.Errorf("the trip is not listed: %s", trips.Body)
	}

	s.Clock.Advance(back)
	s.Get(t, before.AccessToken, "/api/v1/me").Must(t, 200)
	later := apptest.JSON[flow.Tokens](t, s.Do(t, posted("/oauth/token", "grant_type", "refresh_token",
		"refresh_token", refreshed.RefreshToken, "client_id", after.ClientID)).Must(t, 200))
	s.Get(t, later.AccessToken, "/api/v1/me").Must(t, 200)
	if a := s.Get(t, revoked.AccessToken, "/api/v1/me"); a.Status != 401 {
		t.Errorf("the revoked token, later: %d %s", a.Status, a.Body)
	}
}
