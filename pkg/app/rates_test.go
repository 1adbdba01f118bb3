package app_test

import (
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// A tenant over its rate gets a 429 with Retry-After, at no cost to the table.
// Other tenants are not affected.
func TestRates(t *testing.T) {
	s := apptest.With(t, apptest.Options{Rates: api.Rates{Tenant: 3, Client: 2}})
	operator, driver := s.Token(t, s.Operator(t, "metro", "ana")), s.Token(t, s.Driver(t, "metro", "drew"))
	other := s.Token(t, s.Operator(t, "harbor", "hana"))
	s.Clock.Hold()
	for range 4 { // two seconds' worth of the client
		s.Get(t, operator, "/api/v1/me").Must(t, 200)
	}
	refused := s.Get(t, operator, "/api/v1/me").Must(t, 429)
	if want := `{"error":"rate_limited","error_description":"Too many requests. Try again later."}`; string(refused.Body) != want {
		t.Errorf("got %s, want %s", refused.Body, want)
	}
	if got := refused.Header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After: %q", got)
	}
	if refused.Seen.Usage.Requests != 0 || refused.Seen.Operation != "svc_me" || refused.Seen.Code != "rate_limited" {
		t.Errorf("seen: %+v", refused.Seen)
	}
	for range 2 { // what the client leaves of the tenant's
		s.Get(t, driver, "/api/v1/me").Must(t, 200)
	}
	s.Get(t, driver, "/api/v1/me").Must(t, 429)
	s.Get(t, other, "/api/v1/me").Must(t, 200)
	s.Clock.Advance(time.Second)
	s.Get(t, operator, "/api/v1/me").Must(t, 200)
}

// TestRatesOfRevokedToken: a revoked token does not use its tenant's rate; a
// separate bucket limits it.
func TestRatesOfRevokedToken(t *testing.T) {
	s := apptest.With(t, apptest.Options{Rates: api.Rates{Tenant: 5, Client: 4}})
	driver, revoked := s.Token(t, s.Driver(t, "metro", "drew")), s.Token(t, s.Operator(t, "metro", "ana"))
	access, err := s.Runtime.Keys().Verify(t.Context(), revoked)
	testkit.Must(t, err)
	tx := s.Tenant("metro").Write()
	tx.Update(authz.TokenKey(s.Tenant("metro"), access.ID), table.Change{Set: map[string]any{"revoked": true}})
	testkit.Must(t, tx.Commit(t.Context()))
	s.Clock.Hold()
	for range 8 {
		s.Get(t, revoked, "/api/v1/me").Must(t, 401)
	}
	for range 20 {
		s.Get(t, revoked, "/api/v1/me").Must(t, 429)
	}
	for range 8 {
		s.Get(t, driver, "/api/v1/me").Must(t, 200)
	}
}
