package oauth_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
)

func TestRevocation(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"access_token", "refresh_token", "rotated refresh_token"} {
		t.Run(kind, func(t *testing.T) {
			f := newFixture(t)
			a, other := f.register(nil), f.register(nil)
			r := f.tokens(a, authz.Rider, "rider.trips:read")
			second := f.tokens(a, authz.Rider, "rider.trips:read")
			token := r.text(kind)
			if kind == "rotated refresh_token" {
				token = r.text("refresh_token")
				r = f.refresh(a, token)
			}
			f.expect(f.postForm("/oauth/revoke", "client_id", other.id, "token", token), 400, "unauthorized_client")
			f.expect(f.postForm("/oauth/revoke", "client_id", ids.New(ids.Client, f.now()), "token", token), 401,
				"invalid_client")
			if !f.alive(r.text("access_token")) {
				t.Fatal("another client revoked the token")
			}
			for range 2 { // RFC 7009 section 2.2: again is no error
				if got := f.postForm("/oauth/revoke", "client_id", a.id, "token", token, "token_type_hint",
					"nonsense"); got.status != http.StatusOK || got.raw != "" {
					t.Errorf("%d %s", got.status, got.raw)
				}
			}
			if f.alive(r.text("access_token")) {
				t.Error("the access token lives")
			}
			f.expect(f.refresh(a, r.text("refresh_token")), 400, "invalid_grant")
			if !f.alive(second.text("access_token")) {
				t.Error("another sign-in's token died")
			}
		})
	}
}

func TestRevocationFaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	f.expect(f.postForm("/oauth/revoke", "client_id", a.id), 400, "invalid_request")
	f.expect(f.postForm("/oauth/revoke", "client_id", a.id, "token", "a", "token", "b"), 400, "invalid_request")
	f.expect(f.postForm("/oauth/revoke", "token", "a"), 401, "invalid_client")
	for _, unknown := range []string{"x", "a.b.c", ids.Secret()} {
		if got := f.postForm("/oauth/revoke", "client_id", a.id, "token", unknown); got.status != http.StatusOK {
			t.Errorf("RFC 7009 2.2: an unknown token: %d %s", got.status, got.raw)
		}
	}
}

func TestIntrospection(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(map[string]any{"token_endpoint_auth_method": "client_secret_post"})
	other := f.register(map[string]any{"token_endpoint_auth_method": "client_secret_post"})
	public := f.register(nil)
	code := f.code(a, authz.Rider, "rider.trips:read")
	r := f.redeem(a, code, "client_secret", a.secret)
	ask := func(by registration, token string) reply {
		return f.postForm("/oauth/introspect", "client_id", by.id, "client_secret", by.secret, "token", token)
	}
	claims, err := f.keys.Verify(t.Context(), r.text("access_token"))
	if err != nil {
		t.Fatal(err)
	}
	now := float64(f.now().Unix())
	want := map[string]any{"active": true, "scope": "rider.trips:read", "client_id": a.id, "token_type": "Bearer",
		"exp": now + 3600, "iat": now,
		"sub": f.actors[authz.Rider], "aud": "rider", "iss": baseURL, "jti": claims.ID, "tenant_id": f.tenant.ID()}
	if diff := cmp.Diff(want, ask(a, r.text("access_token")).body); diff != "" {
		t.Error(diff)
	}
	refresh := ask(a, r.text("refresh_token"))
	if refresh.body["active"] != true || refresh.body["exp"] != now+90*24*3600 ||
		refresh.text("sub") != f.actors[authz.Rider] {
		t.Error(refresh.raw)
	}
	inactive := map[string]any{"active": false}
	for name, got := range map[string]reply{
		"another client's access token":  ask(other, r.text("access_token")),
		"another client's refresh token": ask(other, r.text("refresh_token")),
		"no token":                       ask(a, "x"),
	} {
		if diff := cmp.Diff(inactive, got.body); diff != "" || got.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, got.status, diff)
		}
	}
	f.expect(f.postForm("/oauth/introspect", "client_id", public.id, "token", "x"), 401, "invalid_client")
	f.expect(f.postForm("/oauth/introspect", "client_id", a.id, "client_secret", "x", "token", "x"), 401, "invalid_client")
	old := r
	r = f.refresh(a, r.text("refresh_token"), "client_secret", a.secret)
	if got := ask(a, old.text("refresh_token")); got.body["active"] != false {
		t.Errorf("a rotated token: %s", got.raw)
	}
	if got := ask(a, old.text("access_token")); got.body["active"] != true {
		t.Errorf("introspection of a rotated token revoked something: %s", got.raw)
	}
	f.set(f.actorKey(authz.Rider), map[string]any{"disabled": true})
	for _, kind := range []string{"access_token", "refresh_token"} {
		if got := ask(a, r.text(kind)); got.body["active"] != false {
			t.Errorf("%s of a disabled actor: %s", kind, got.raw)
		}
	}
	f.set(f.actorKey(authz.Rider), map[string]any{"disabled": false})
	f.advance(time.Hour)
	if got := ask(a, r.text("access_token")); got.body["active"] != false {
		t.Errorf("expired: %s", got.raw)
	}
}
