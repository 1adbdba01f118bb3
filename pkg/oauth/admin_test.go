package oauth_test

import (
	"errors"
	"testing"
	"time"

	"svc/pkg/audit"
	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/oauth"
)

func TestTokensAndRevokeToken(t *testing.T) {
	w := newWorld(t)
	a := w.register(nil)
	first := w.signIn(a, authz.Rider, "rider.trips:read")
	w.clock.add(time.Second)
	second := w.signIn(a, authz.Driver, "driver.trips:accept")
	w.clock.add(time.Second)
	next := w.refresh(a, first.text("refresh_token"))
	list := func() []oauth.Token {
		t.Helper()
		var all []oauth.Token
		after := ""
		for {
			page, more, err := w.server.Tokens(t.Context(), w.tenant, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, page...); more == "" {
				return all
			}
			after = more
		}
	}
	jti := func(r reply) string {
		c, err := w.keys.Verify(t.Context(), r.text("access_token"))
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	got := list()
	if len(got) != 3 || got[0].ID != jti(next) || got[1].ID != jti(second) || got[2].ID != jti(first) {
		t.Fatalf("not three, newest first: %+v", got)
	}
	if got[1].Actor != w.actors[authz.Driver] || got[1].Client != a.id || got[1].Audience != "driver" || len(got[1].Scopes) != 1 {
		t.Errorf("%+v", got[1])
	}
	by := audit.By{Who: "svc:test", At: w.clock.now()}
	for _, unknown := range []string{"x", ids.New(ids.Token, by.At)} {
		if err := w.server.RevokeToken(t.Context(), w.tenant, by, unknown); !errors.Is(err, fault.NotFound()) {
			t.Errorf("%q: %v", unknown, err)
		}
	}
	if err := w.server.RevokeToken(t.Context(), w.db.Tenant(ids.New(ids.Tenant, by.At)), by, jti(first)); !errors.Is(err, fault.NotFound()) {
		t.Errorf("another tenant's token: %v", err)
	}
	for range 2 {
		if err := w.server.RevokeToken(t.Context(), w.tenant, by, jti(first)); err != nil {
			t.Fatal(err)
		}
	}
	if w.alive(first.text("access_token")) || w.alive(next.text("access_token")) || !w.alive(second.text("access_token")) {
		t.Error("not just that sign-in's tokens died")
	}
	w.expect(w.refresh(a, next.text("refresh_token")), 400, "invalid_grant")
	if got := list(); len(got) != 1 || got[0].ID != jti(second) {
		t.Errorf("left: %+v", got)
	}
	entries, _, err := audit.List(t.Context(), w.tenant, "", 10)
	if err != nil || len(entries) != 1 || entries[0].What != "token.revoke" || entries[0].Subject != jti(first) {
		t.Errorf("audit log: %+v, %v", entries, err)
	}
	w.clock.add(time.Hour)
	if got := list(); len(got) != 0 {
		t.Errorf("expired ones are listed: %+v", got)
	}
}

// What a client and an actor have is over on all devices; another client's is not.
func TestDisconnect(t *testing.T) {
	w := newWorld(t)
	a, b := w.register(nil), w.register(nil)
	first, again := w.signIn(a, authz.Rider, "rider.trips:read"), w.signIn(a, authz.Rider, "rider.wallet:read")
	other := w.signIn(b, authz.Rider, "rider.trips:read")
	if err := w.server.Disconnect(t.Context(), w.tenant, a.id, w.actors[authz.Rider]); err != nil {
		t.Fatal(err)
	}
	for _, r := range []reply{first, again} {
		if w.alive(r.text("access_token")) {
			t.Error("a token lives")
		}
		w.expect(w.refresh(a, r.text("refresh_token")), 400, "invalid_grant")
	}
	if !w.alive(other.text("access_token")) || w.refresh(b, other.text("refresh_token")).status != 200 {
		t.Error("another client's tokens are dead")
	}
}
