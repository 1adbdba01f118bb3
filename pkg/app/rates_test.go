package app_test

import (
	"testing"
	"time"

	"svc/pkg/api"
	"svc/pkg/app"
	"svc/pkg/app/apptest"
)

// A tenant that asks too much is told when to come again, at no cost to the
// table, and no other tenant is told anything.
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
	if refused.Seen.Usage.Requests != 0 || refused.Seen.Operation != "svc_me" || refused.Seen.Word != "rate_limited" {
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

func TestRatesFromEnvironment(t *testing.T) {
	for _, tt := range []struct {
		tenant, client string
		want           api.Rates
		ok             bool
	}{
		{"", "", api.Rates{}, true},
		{"200", "150", api.Rates{Tenant: 200, Client: 150}, true},
		{"0", "5", api.Rates{Client: 5}, true},
		{"-1", "", api.Rates{}, false},
		{"", "many", api.Rates{}, false},
		{"1000001", "", api.Rates{}, false},
	} {
		t.Setenv("TENANT_RATE", tt.tenant)
		t.Setenv("CLIENT_RATE", tt.client)
		if got, err := app.RatesFromEnvironment(); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q, %q: got %+v, %v", tt.tenant, tt.client, got, err)
		}
	}
}
