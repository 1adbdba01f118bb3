package oauth

import (
	"context"
	"net/http"
	"testing"
	"time"

	"svc/pkg/audit"
	"svc/pkg/authz"
	"svc/pkg/customer"
	"svc/pkg/driver"
	"svc/pkg/ids"
	"svc/pkg/oauth/flow"
	"svc/pkg/person"
)

// reset sets a new password by a one-time link.
func (h *house) reset(audience authz.Audience, tenantID, email, words string) {
	h.t.Helper()
	link, err := NewLink(context.Background(), h.db, houseBase, audience, tenantID, email, h.clock())
	must(h.t, err)
	v := h.visitor()
	if s := v.post(v.get(link), "password", words, "again", words); s.status != http.StatusOK {
		h.t.Fatalf("%d %s", s.status, s.text())
	}
}

// A new password ends what the old one gave: sessions, codes on their way,
// access and refresh tokens in every tenant, and consents. What changes the
// account's record later brings nothing back and ends nothing of the new.
func TestNewPasswordEndsWhatTheOldGave(t *testing.T) {
	for _, test := range []struct {
		name, email string
		audience    authz.Audience
		tenants     []string
		touch       func(h *house, by audit.By) error
	}{
		{"an operator", "ana@metro.example", authz.Dashboard, []string{"metro", "nova"}, func(h *house, by audit.By) error {
			_, err := person.Store{DB: h.db}.Grant(context.Background(), h.db.Tenant(h.metro.ID), by, h.ana.ID, "VIEW_WALLETS")
			return err
		}},
		{"a rider", "rita@home.example", authz.Rider, []string{"metro"}, func(h *house, by audit.By) error {
			_, err := customer.Change(context.Background(), h.db.Tenant(h.metro.ID), by, h.rita, func(r *customer.Record) error {
				r.FirstName = "Margarita"
				return nil
			})
			return err
		}},
		{"a driver", "dan@home.example", authz.Driver, []string{"metro"}, func(h *house, by audit.By) error {
			_, err := driver.Change(context.Background(), h.db.Tenant(h.metro.ID), by, h.dan, func(r *driver.Record) error {
				r.Status = driver.Online
				return nil
			})
			return err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHouse(t)
			h.t = t
			c := h.planner(func(c *Client) { c.Audiences, c.Scopes = []authz.Audience{test.audience}, authz.Scopes(test.audience) })
			o := flow.Options{BaseURL: houseBase, ClientID: c.ID, RedirectURI: callback, HTTPClient: h.client}
			ctx, verifier := context.Background(), ids.Secret()
			in := func(slug string) []string { return []string{"scope", "openid", "tenant_hint", slug} }
			at := func(slug string) *visitor {
				v := h.visitor()
				if slug == "nova" {
					v.host = "https://ride.nova.example"
				}
				return v
			}
			var before []flow.Tokens
			for _, slug := range test.tenants {
				before = append(before, h.tokens(at(slug), c, test.email, in(slug)...))
			}
			signedIn := h.visitor()
			code := signedIn.through(ask(c, append(in("metro"), "code_challenge", challengeOf(verifier))...), test.email).answer.Get("code")
			others := h.tokens(h.visitor(), h.planner(nil), "bob@metro.example")
			h.pass(time.Second)
			tenantID := ""
			if test.audience != authz.Dashboard {
				tenantID = h.metro.ID
			}
			const words = "another battery staple"
			h.reset(test.audience, tenantID, test.email, words)

			if got := signedIn.authorize(ask(c, in("metro")...)).page(); got != "sign-in" {
				t.Errorf("the session: %s", got)
			}
			if _, err := flow.Exchange(ctx, o, code, verifier); err == nil {
				t.Error("the code is good")
			}
			v := h.visitor()
			s := v.follow(v.post(v.authorize(ask(c, in("metro")...)), "email", test.email, "password", words))
			if s.page() != "consent" {
				t.Fatalf("the new password: %s", s.text())
			}
			if got := v.get("/oauth/apps"); got.status != http.StatusOK || got.page() != "Connected applications" || hasApp(got) {
				t.Errorf("connected applications: %d %s", got.status, got.text())
			}
			v.allow(s)
			after := h.tokens(v, c, "", in("metro")...)
			h.pass(time.Second)
			must(t, test.touch(h, audit.By{Who: "test", At: h.clock()}))
			for i, tokens := range before {
				if s, _ := h.userinfo(tokens.AccessToken); s.status != http.StatusUnauthorized {
					t.Errorf("the access token of %s: %d", test.tenants[i], s.status)
				}
				if _, err := flow.Refresh(ctx, o, tokens.RefreshToken); err == nil {
					t.Errorf("the refresh token of %s is good", test.tenants[i])
				}
			}
			for name, token := range map[string]string{"of the new password": after.AccessToken, "another person's": others.AccessToken} {
				if s, _ := h.userinfo(token); s.status != http.StatusOK {
					t.Errorf("a token %s: %d", name, s.status)
				}
			}
			if _, err := flow.Refresh(ctx, o, after.RefreshToken); err != nil {
				t.Errorf("a refresh token of the new password: %v", err)
			}
		})
	}
}

// A consent is of the membership in which it was given: whoever leaves and
// joins again is asked again, for what she agrees to now alone.
func TestConsentEndsWithTheMembership(t *testing.T) {
	h := newHouse(t)
	ctx, c, v := context.Background(), h.planner(nil), h.visitor()
	v.through(ask(c, "scope", "openid tenant.trips:read tenant.drivers:read"), "bob@metro.example")
	people, metro := person.Store{DB: h.db}, h.db.Tenant(h.metro.ID)
	must(t, people.Leave(ctx, metro, audit.By{Who: "test", At: h.clock()}, h.bob.ID))
	h.pass(time.Second)
	_, err := people.Join(ctx, metro, audit.By{Who: "test", At: h.clock()}, h.bob.ID, "dispatcher", []string{"VIEW_TRIPS", "VIEW_DRIVERS"})
	must(t, err)
	if s := v.get("/oauth/apps"); hasApp(s) {
		t.Errorf("connected applications: %s", s.text())
	}
	if got := v.authorize(ask(c, "scope", "openid", "prompt", "none")).page(); got != "consent_required" {
		t.Errorf("without a page: %s", got)
	}
	if got := v.allow(v.authorize(ask(c, "scope", "openid"))).page(); got != "code" {
		t.Fatalf("asked again: %s", got)
	}
	for scope, want := range map[string]string{"openid": "code", "tenant.drivers:read": "consent"} {
		if got := v.authorize(ask(c, "scope", scope)).page(); got != want {
			t.Errorf("%s: %s, want %s", scope, got, want)
		}
	}
	if s := v.get("/oauth/apps"); !hasApp(s) {
		t.Errorf("connected applications: %s", s.text())
	}
}
