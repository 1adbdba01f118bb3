package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// operatorCookie returns the value of the cookie that names an operator's companies.
func operatorCookie(t *testing.T, b *browser) string {
	t.Helper()
	at, err := url.Parse(b.base + "/console/")
	testkit.Must(t, err)
	for _, one := range b.client.Jar.Cookies(at) {
		if one.Name == "svc-operator" {
			return one.Value
		}
	}
	return ""
}

// TestConsoleOfAnotherCompany: a link to the console with a company adds the origin of its
// map to the page's policy only in a browser in which one of its operators signed in.
func TestConsoleOfAnotherCompany(t *testing.T) {
	t.Parallel()
	s := newService(t)
	metro, harbor := s.Operator(t, "metro", "olga"), s.Operator(t, "harbor", "nora")
	for _, one := range []struct{ token, host string }{{s.Token(t, metro, "tenant.settings:write"), "tiles.metro.example"},
		{s.Token(t, harbor, "tenant.settings:write"), "tiles.harbor.example"}} {
		s.Patch(t, one.token, "/api/v1/settings", `{"map":{"tiles":"https://`+one.host+`/{z}/{x}/{y}.png","credit":"©"}}`).
			Must(t, http.StatusOK)
	}
	a := s.client(t, "token_endpoint_auth_method", "none", "audiences", []string{"dashboard"})
	olga := newServiceBrowser(t, s.Service)
	policy := func(b *browser, tenant string) string {
		t.Helper()
		got := b.get("/console/?tenant=" + tenant)
		if got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.text())
		}
		return got.header.Get("Content-Security-Policy")
	}
	own, other := s.Tenant("metro").ID(), s.Tenant("harbor").ID()
	expect := func(when string, b *browser, tenant string, mayLoad bool) {
		t.Helper()
		if got := policy(b, tenant); strings.Contains(got, "https://tiles.") != mayLoad || strings.Contains(got, "harbor") {
			t.Errorf("%s, %s: %s", when, tenant, got)
		}
	}
	expect("a stranger", olga, own, false)
	olga.obtainCode(s.authorization(a, "scope", "openid tenant.trips:read"), metro.Email)
	expect("signed in", olga, own, true)
	expect("signed in", olga, other, false)
	expect("signed in", olga, own+"/"+other, false)
	expect("signed in", olga, "", false)
	expect("a rider", s.browser, own, false)
	cookie := operatorCookie(t, olga)
	mac := strings.TrimPrefix(cookie, own+".")
	for name, c := range map[string]struct {
		cookie, tenant string
		mayLoad        bool
	}{
		"its own": {cookie, own, true}, "beside a forged one": {other + "." + mac + "/" + cookie, own, true},
		"a name alone": {other, other, false}, "two names": {own + "/" + other, other, false},
		"another's MAC":     {other + "." + mac, other, false},
		"a cut MAC":         {own + "." + mac[:20], own, false},
		"a changed MAC":     {own + "." + strings.Repeat("A", len(mac)), own, false},
		"the MAC of no key": {other + "." + strings.Repeat("A", 43), other, false},
		"no tenant":         {"." + mac, "", false},
	} {
		r := newServiceBrowser(t, s.Service).get("/console/?tenant="+c.tenant, "Cookie", "svc-operator="+c.cookie)
		if got := r.header.Get("Content-Security-Policy"); strings.Contains(got, "https://tiles.") != c.mayLoad ||
			strings.Contains(got, "harbor") {
			t.Errorf("%s: %s", name, got)
		}
	}
	olga.post(olga.get("/oauth/logout"))
	expect("signed out", olga, own, false)
}
