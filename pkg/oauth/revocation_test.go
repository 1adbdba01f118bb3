package oauth_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/authz"
	"svc/pkg/ids"
)

func TestRevocation(t *testing.T) {
	for _, kind := range []string{"access_token", "refresh_token", "rotated refresh_token"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			a, other := w.register(nil), w.register(nil)
			r := w.signIn(a, authz.Rider, "rider.trips:read")
			second := w.signIn(a, authz.Rider, "rider.trips:read")
			token := r.text(kind)
			if kind == "rotated refresh_token" {
				token = r.text("refresh_token")
				r = w.refresh(a, token)
			}
			w.expect(w.form("/oauth/revoke", "client_id", other.id, "token", token), 400, "unauthorized_client")
			w.expect(w.form("/oauth/revoke", "client_id", ids.New(ids.Client, w.clock.now()), "token", token), 401, "invalid_client")
			if !w.alive(r.text("access_token")) {
				t.Fatal("another client revoked the token")
			}
			for range 2 { // RFC 7009 section 2.2: again is no error
				if got := w.form("/oauth/revoke", "client_id", a.id, "token", token, "token_type_hint", "nonsense"); got.status != http.StatusOK || got.raw != "" {
					t.Errorf("%d %s", got.status, got.raw)
				}
			}
			if w.alive(r.text("access_token")) {
				t.Error("the access token lives")
			}
			w.expect(w.refresh(a, r.text("refresh_token")), 400, "invalid_grant")
			if !w.alive(second.text("access_token")) {
				t.Error("another sign-in's token died")
			}
		})
	}
}

func TestRevocationFaults(t *testing.T) {
	w := newWorld(t)
	a := w.register(nil)
	w.expect(w.form("/oauth/revoke", "client_id", a.id), 400, "invalid_request")
	w.expect(w.form("/oauth/revoke", "client_id", a.id, "token", "a", "token", "b"), 400, "invalid_request")
	w.expect(w.form("/oauth/revoke", "token", "a"), 400, "invalid_request")
	for _, unknown := range []string{"x", "a.b.c", ids.Secret()} {
		if got := w.form("/oauth/revoke", "client_id", a.id, "token", unknown); got.status != http.StatusOK {
			t.Errorf("RFC 7009 2.2: an unknown token: %d %s", got.status, got.raw)
		}
	}
}

func TestIntrospection(t *testing.T) {
	w := newWorld(t)
	a := w.register(map[string]any{"token_endpoint_auth_method": "client_secret_post"})
	other := w.register(map[string]any{"token_endpoint_auth_method": "client_secret_post"})
	public := w.register(nil)
	code := w.code(a, authz.Rider, "rider.trips:read")
	r := w.redeem(a, code, "client_secret", a.secret)
	ask := func(by app, token string) reply {
		return w.form("/oauth/introspect", "client_id", by.id, "client_secret", by.secret, "token", token)
	}
	claims, err := w.keys.Verify(t.Context(), r.text("access_token"))
	if err != nil {
		t.Fatal(err)
	}
	now := float64(w.clock.now().Unix())
	want := map[string]any{"active": true, "scope": "rider.trips:read", "client_id": a.id, "token_type": "Bearer", "exp": now + 3600, "iat": now,
		"sub": w.actors[authz.Rider], "aud": "rider", "iss": baseURL, "jti": claims.ID, "tenant_id": w.tenant.ID()}
	if diff := cmp.Diff(want, ask(a, r.text("access_token")).body); diff != "" {
		t.Error(diff)
	}
	refresh := ask(a, r.text("refresh_token"))
	if refresh.body["active"] != true || refresh.body["exp"] != now+90*24*3600 || refresh.text("sub") != w.actors[authz.Rider] {
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
	w.expect(w.form("/oauth/introspect", "client_id", public.id, "token", "x"), 401, "invalid_client")
	w.expect(w.form("/oauth/introspect", "client_id", a.id, "client_secret", "x", "token", "x"), 401, "invalid_client")
	old := r
	r = w.refresh(a, r.text("refresh_token"), "client_secret", a.secret)
	if got := ask(a, old.text("refresh_token")); got.body["active"] != false {
		t.Errorf("a rotated token: %s", got.raw)
	}
	if got := ask(a, old.text("access_token")); got.body["active"] != true {
		t.Errorf("introspection of a rotated token revoked something: %s", got.raw)
	}
	w.set(w.actorKey(authz.Rider), map[string]any{"disabled": true})
	for _, kind := range []string{"access_token", "refresh_token"} {
		if got := ask(a, r.text(kind)); got.body["active"] != false {
			t.Errorf("%s of a disabled actor: %s", kind, got.raw)
		}
	}
	w.set(w.actorKey(authz.Rider), map[string]any{"disabled": false})
	w.clock.add(time.Hour)
	if got := ask(a, r.text("access_token")); got.body["active"] != false {
		t.Errorf("expired: %s", got.raw)
	}
}
