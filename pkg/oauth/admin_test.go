package oauth_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/oauth"
)

// listTokens reads metro's live access tokens, in pages of two.
func (f *fixture) listTokens() (all []oauth.Token) {
	f.t.Helper()
	for after := ""; ; {
		page, more, err := f.server.Tokens(f.t.Context(), f.tenant, after, 2)
		testkit.Must(f.t, err)
		if all = append(all, page...); more == "" {
			return all
		}
		after = more
	}
}

func TestTokensAndRevokeToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	first := f.tokens(a, authz.Rider, "rider.trips:read")
	f.advance(time.Second)
	second := f.tokens(a, authz.Driver, "driver.trips:accept")
	f.advance(time.Second)
	next := f.refresh(a, first.text("refresh_token"))
	list := f.listTokens
	jti := func(r reply) string {
		c, err := f.keys.Verify(t.Context(), r.text("access_token"))
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	got := list()
	if len(got) != 3 || got[0].ID != jti(next) || got[1].ID != jti(second) || got[2].ID != jti(first) {
		t.Fatalf("not three, newest first: %+v", got)
	}
	if got[1].Actor != f.actors[authz.Driver] || got[1].Client != a.id || got[1].Audience != "driver" ||
		len(got[1].Scopes) != 1 {
		t.Errorf("%+v", got[1])
	}
	by := audit.By{Who: "svc:test", At: f.now()}
	for _, unknown := range []string{"x", ids.New(ids.Token, by.At)} {
		if err := f.server.RevokeToken(t.Context(), f.tenant, by, unknown); !errors.Is(err, fault.NotFound()) {
			t.Errorf("%q: %v", unknown, err)
		}
	}
	if err := f.server.RevokeToken(t.Context(), f.db.Tenant(ids.New(ids.Tenant, by.At)), by, jti(first)); !errors.Is(err,
		fault.NotFound()) {
		t.Errorf("another tenant's token: %v", err)
	}
	for range 2 {
		if err := f.server.RevokeToken(t.Context(), f.tenant, by, jti(first)); err != nil {
			t.Fatal(err)
		}
	}
	if f.alive(first.text("access_token")) || f.alive(next.text("access_token")) || !f.alive(second.text("access_token")) {
		t.Error("not just that sign-in's tokens died")
	}
	f.expect(f.refresh(a, next.text("refresh_token")), 400, "invalid_grant")
	if got := list(); len(got) != 1 || got[0].ID != jti(second) {
		t.Errorf("left: %+v", got)
	}
	entries, _, err := audit.List(t.Context(), f.tenant, "", 100)
	entries = slices.DeleteFunc(entries, func(e audit.Entry) bool { return e.What != "token.revoke" })
	if err != nil || len(entries) != 1 || entries[0].What != "token.revoke" || entries[0].Subject != jti(first) {
		t.Errorf("audit log: %+v, %v", entries, err)
	}
	f.advance(time.Hour)
	if got := list(); len(got) != 0 {
		t.Errorf("expired ones are listed: %+v", got)
	}
}

// A disconnected client loses its access to the actor on all devices. Another
// client keeps its access.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, b := f.register(nil), f.register(nil)
	first, again := f.tokens(a, authz.Rider, "rider.trips:read"), f.tokens(a, authz.Rider, "rider.wallet:read")
	other := f.tokens(b, authz.Rider, "rider.trips:read")
	hers := f.browsers[authz.Rider]
	page := hers.get("/oauth/apps?audience=rider&tenant_hint=metro")
	_, csrf := page.form(t)
	ended := hers.do(http.MethodPost, "/oauth/apps", formOf("csrf", csrf, "client", a.id, "of", f.metro.ID))
	if ended.status != http.StatusSeeOther {
		t.Fatalf("%d %s", ended.status, ended.text())
	}
	for _, r := range []reply{first, again} {
		if f.alive(r.text("access_token")) {
			t.Error("a token lives")
		}
		f.expect(f.refresh(a, r.text("refresh_token")), 400, "invalid_grant")
	}
	if !f.alive(other.text("access_token")) || f.refresh(b, other.text("refresh_token")).status != 200 {
		t.Error("another client's tokens are invalid")
	}
}
