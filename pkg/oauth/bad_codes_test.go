package oauth_test

import (
	"net/http"
	"testing"

	"svc/pkg/access/authz"
	"svc/pkg/oauth"
)

// If others send bad codes to a client's backend, its valid codes still work.
// The number of failures is limited, for the client and for everybody else.
func TestBadCodesOfAConfidentialClient(t *testing.T) {
	f := newFixture(t, func(c *oauth.Config) { c.Limits.TokenFailures = 5 })
	a := f.register(map[string]any{"token_endpoint_auth_method": "client_secret_post"})
	secret := []string{"client_secret", a.secret}
	tokens := f.redeem(a, f.code(a, authz.Rider, "rider.trips:read"), secret...)
	if tokens.status != http.StatusOK {
		t.Fatal(tokens.raw)
	}
	var last reply
	for range 10 {
		last = f.redeem(a, "bogus", secret...)
	}
	f.expect(last, http.StatusTooManyRequests, "rate_limited")
	if r := f.refresh(a, tokens.text("refresh_token"), secret...); r.status != http.StatusOK {
		t.Errorf("a good refresh: %d %s", r.status, r.raw)
	}
	public := f.register(nil)
	if r := f.redeem(public, f.code(public, authz.Rider, "rider.trips:read")); r.status != http.StatusOK {
		t.Errorf("another client from there: %d %s", r.status, r.raw)
	}
	for range 10 {
		last = f.redeem(public, "bogus")
	}
	f.expect(last, http.StatusTooManyRequests, "rate_limited")
	if r := f.redeem(a, f.code(a, authz.Rider, "rider.trips:read"), secret...); r.status != http.StatusOK {
		t.Errorf("the client with its secret, from an address with failures: %d %s", r.status, r.raw)
	}
	f.expect(f.redeem(a, f.code(a, authz.Rider, "rider.trips:read"), "client_secret", "wrong"), http.StatusTooManyRequests,
		"rate_limited")
}
