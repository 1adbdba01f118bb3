package oauth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/table"
)

// allows reports whether an access token of metro passes the checks of a request
// that needs the scope.
func (f *fixture) allows(raw, scope string) bool {
	f.t.Helper()
	a, err := f.keys.Verify(context.Background(), raw)
	testkit.Must(f.t, err)
	p := f.db.Platform("CLIENT")
	items, err := table.Join(f.tenant.Handle, p.Handle).Batch(context.Background(), authz.LiveKeys(f.tenant, p, a)...)
	testkit.Must(f.t, err)
	policy := authz.Policy{Scopes: map[authz.Audience]string{authz.Audience(a.Audience): scope}}
	return authz.Judge(policy, a, authz.LiveFrom(items), f.now()) == nil
}

// replace replaces a client's registration (RFC 7592 section 2.2) and returns it
// with the new management token.
func (f *fixture) replace(a registration, changes map[string]any) registration {
	f.t.Helper()
	body := map[string]any{"client_id": a.id, "client_name": "Test client", "redirect_uris": []string{callback}}
	for name, value := range changes {
		body[name] = value
	}
	r := f.sendJSON(http.MethodPut, "/oauth/register/"+a.id, a.management, body)
	if r.status != http.StatusOK {
		f.t.Fatalf("PUT: %d %s", r.status, r.raw)
	}
	a.management = r.text("registration_access_token")
	return a
}

func (f *fixture) userInfo(token string) reply {
	f.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/oauth/userinfo", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return f.do(r)
}

// If a PUT removes scopes of a client, its access tokens lose them at the next
// request, and its refresh tokens at the next refresh. If a PUT adds the scopes
// again, the tokens regain what was granted, and no more.
func TestNarrowedScopeNarrowsLivingTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	with := func(scope string) map[string]any {
		return map[string]any{"token_endpoint_auth_method": "client_secret_post", "scope": scope}
	}
	const all = "openid profile rider.trips:read rider.wallet:read"
	a := f.register(with(all))
	r := f.redeem(a, f.code(a, authz.Rider, all), "client_secret", a.secret)
	access, refresh := r.text("access_token"), r.text("refresh_token")
	if !f.allows(access, "rider.wallet:read") || f.userInfo(access).text("name") == "" {
		t.Fatalf("the token is not good: %s", r.raw)
	}
	about := func(token string) string {
		return f.postForm("/oauth/introspect", "client_id", a.id, "client_secret", a.secret, "token", token).text("scope")
	}

	a2 := f.replace(a, with("openid rider.trips:read"))
	if f.allows(access, "rider.wallet:read") || !f.allows(access, "rider.trips:read") {
		t.Error("the access token is not narrowed to rider.trips:read")
	}
	if who := f.userInfo(access); who.status != http.StatusOK || who.text("name") != "" {
		t.Errorf("userinfo: %d %s", who.status, who.raw)
	}
	if about(access) != "openid rider.trips:read" || about(refresh) != "openid rider.trips:read" {
		t.Errorf("introspection: %q, %q", about(access), about(refresh))
	}
	next := f.refresh(a, refresh, "client_secret", a.secret)
	if next.text("scope") != "openid rider.trips:read" {
		t.Errorf("refresh: %d %s", next.status, next.raw)
	}

	f.advance(time.Minute)
	a2 = f.replace(a2, with(all+" rider.profile:read"))
	if !f.allows(access, "rider.wallet:read") || f.allows(access, "rider.profile:read") {
		t.Error("a wider registration does not give back what was granted, or gives more")
	}

	f.replace(a2, map[string]any{"token_endpoint_auth_method": "client_secret_post",
		"audiences": []string{"driver"}})
	if f.alive(access) {
		t.Error("a token of an audience that the client gave up lives")
	}
	f.expect(f.refresh(a, next.text("refresh_token"), "client_secret", a.secret), 400, "invalid_scope")
}

// Every client is listed, newest first, until it expires unused.
func TestListClientsShowsEveryClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var want []string
	for range 7 {
		f.advance(time.Second)
		want = append(want, f.register(nil).id)
	}
	slices.Reverse(want)
	list := func() (got []string) {
		for after := ""; ; {
			page, next, err := f.server.ListClients(t.Context(), after, 2)
			testkit.Must(t, err)
			for _, one := range page {
				got = append(got, one.ID)
			}
			if after = next; next == "" {
				return got
			}
		}
	}
	if got := list(); !slices.Equal(got, want) {
		t.Errorf("listed %v, registered %v", got, want)
	}
	testkit.Must(t, f.server.DisableClient(t.Context(), want[0], true))
	if got := list(); !slices.Equal(got, want) {
		t.Errorf("a disabled client is not listed: %v", got)
	}
	f.advance(91 * 24 * time.Hour)
	if got := list(); len(got) != 0 {
		t.Errorf("expired clients are listed: %v", got)
	}
}
