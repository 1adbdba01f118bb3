package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/audit"
	"svc/pkg/domain/tenant"
)

// An operator's password is valid in several tenants, so no tenant's domain
// asks for it. Riders and drivers sign in at their tenant's domain.
func TestWhoSignsInWhere(t *testing.T) {
	f := newFixture(t)
	operators, riders := f.storeClient(nil), f.storeClient(forRiders)
	drivers := f.storeClient(func(c *client) {
		c.Audiences, c.Scopes = []authz.Audience{authz.Driver},
			authz.Scopes(authz.Driver)
	})
	const originURL = "https://origin.svc.example"
	names := map[string]string{"nova": "Nova", "metro": "Metro Cabs"}
	for _, test := range []struct {
		name   string
		client client
		scope  string
		tenant string // nova has a domain of its own, metro has none
		from   string
		want   string // address that the request leads to, "" for the sign-in itself
	}{
		{"an operator", operators, "tenant.trips:read", "nova", baseURL, ""},
		{"an operator at the tenant's domain", operators, "tenant.trips:read", "nova", novaURL, baseURL},
		{"an operator at another address of the platform", operators, "tenant.trips:read", "nova", originURL, ""},
		{"a rider", riders, "rider.trips:read", "nova", baseURL, novaURL},
		{"a rider at the tenant's domain", riders, "rider.trips:read", "nova", novaURL, ""},
		{"a driver", drivers, "driver.trips:accept", "nova", baseURL, novaURL},
		{"a driver at the tenant's domain", drivers, "driver.trips:accept", "nova", novaURL, ""},
		{"a rider of a tenant without a domain", riders, "rider.trips:read", "metro", baseURL, ""},
		{"a rider at another tenant's domain", riders, "rider.trips:read", "metro", novaURL, baseURL},
		{"a driver at another tenant's domain", drivers, "driver.trips:accept", "metro", novaURL, baseURL},
		{"a rider at another address of the platform", riders, "rider.trips:read", "metro", originURL, ""},
	} {
		b := f.newBrowser()
		b.base = test.from
		q := authorization(test.client, "scope", test.scope, "tenant_hint", test.tenant)
		s := b.get("/oauth/authorize?" + q.Encode())
		if test.want != "" {
			if want := test.want + "/oauth/authorize?" + q.Encode(); s.status != http.StatusFound || s.location != want {
				t.Errorf("%s: %d to %s, want %s", test.name, s.status, s.location, want)
			}
			continue
		}
		if s.page() != "sign-in" || !strings.Contains(s.body, names[test.tenant]) {
			t.Errorf("%s: %s", test.name, s.text())
		}
	}
}

// A tenant's domain shows a password form only to the tenant's riders and
// drivers, and a domain that the tenant released shows none. The form of a host
// that shows none has no effect there.
func TestPasswordFormsAtDomains(t *testing.T) {
	f, mails := newFixtureWithMail(t)
	const ownURL = "https://own.nova.example" // nova's next domain
	operators, riders := f.storeClient(nil), f.storeClient(forRiders)
	pages := map[string]struct{ operator, rider string }{
		"authorize": {authorization(operators, "tenant_hint", "nova").Encode(),
			authorization(riders, "scope", "rider.trips:read", "tenant_hint", "nova").Encode()},
		"apps":   {"tenant_hint=nova", "audience=rider&tenant_hint=nova"},
		"forgot": {"audience=dashboard", "audience=rider&tenant_hint=nova"},
		"password": {strings.TrimPrefix(f.newLink(authz.Dashboard, "", "ana@metro.example"), baseURL+"/oauth/password?"),
			strings.TrimPrefix(f.newLink(authz.Rider, f.nova.ID, "rita@home.example"), baseURL+"/oauth/password?")},
	}
	check := func(host, rider string) {
		t.Helper()
		for path, q := range pages {
			for query, want := range map[string]string{q.operator: baseURL, q.rider: rider} {
				b := f.newBrowser()
				b.base = host
				s := b.get("/oauth/" + path + "?" + query)
				if path == "password" && want != host {
					want = baseURL // where every link is good
				}
				if form := strings.Contains(s.body, "<form"); form != (want == host) ||
					!form && (s.status != http.StatusFound || !strings.HasPrefix(s.location, want+"/oauth/"+path)) {
					t.Errorf("%s: %s?%s: %d to %s", host, path, query, s.status, s.location)
				}
			}
		}
	}
	check(novaURL, novaURL)
	b := f.newBrowser()
	b.base = novaURL
	s := b.do(http.MethodPost, "/oauth/forgot?audience=dashboard", url.Values{"email": {"ana@metro.example"}})
	if s.status != http.StatusSeeOther || len(mails.sent) > 0 {
		t.Errorf("an operator's link by a form of the tenant's domain: %d, %d mails", s.status, len(mails.sent))
	}
	move := func(domain string) {
		t.Helper()
		_, err := tenant.Store{DB: f.db}.Change(t.Context(), f.nova.ID, audit.By{Who: "svc", At: f.now()},
			func(n *tenant.Tenant) error {
				n.CustomDomain = domain
				return nil
			})
		testkit.Must(t, err)
	}
	move("own.nova.example")
	check(novaURL, ownURL)
	check(ownURL, ownURL)
	move("")
	check(novaURL, baseURL)
	check(ownURL, baseURL)
	move("ride.nova.example")
	check(novaURL, novaURL)
}

// A form that was shown elsewhere signs no operator in at a tenant's domain.
func TestOperatorsPasswordAtATenantsDomain(t *testing.T) {
	f := newFixture(t)
	c := f.storeClient(nil)
	for _, path := range []string{"/oauth/authorize?" + authorization(c, "tenant_hint", "nova").Encode(), "/oauth/apps"} {
		b := f.newBrowser()
		to, csrf := b.get(path).form(t)
		own, err := url.Parse(baseURL)
		testkit.Must(t, err)
		cookie := b.client.Jar.Cookies(own)[0]
		there := f.newBrowser()
		s := there.do(http.MethodPost, strings.Replace(to, baseURL, novaURL, 1),
			formOf("csrf", csrf, "email", "ana@metro.example", "password", password), "Cookie", cookie.Name+"="+cookie.Value)
		if s.cookie("__Host-svc-session") != nil {
			t.Errorf("%s: signed in at the tenant's domain", path)
		}
		there.base = novaURL
		if s := there.get(path); s.status != http.StatusFound || !strings.HasPrefix(s.location, baseURL+"/oauth/") {
			t.Errorf("%s: %d to %s", path, s.status, s.location)
		}
	}
}
