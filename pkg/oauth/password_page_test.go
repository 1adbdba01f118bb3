package oauth_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/person"
	"svc/pkg/oauth/flow"
	"svc/pkg/oauth/link"
)

// reset sets a new password by a one-time link.
func (f *fixture) reset(audience authz.Audience, tenantID, email, words string) {
	f.t.Helper()
	link, err := link.New(context.Background(), f.db, baseURL, audience, tenantID, email, f.now())
	testkit.Must(f.t, err)
	b := f.newBrowser()
	if s := b.post(b.get(link), "password", words, "again", words); s.status != http.StatusOK {
		f.t.Fatalf("%d %s", s.status, s.text())
	}
}

// newPasswordCase is a person who gets a new password, where the person has
// tokens, and a later change of the account's record.
type newPasswordCase struct {
	name, email string
	audience    authz.Audience
	tenants     []string
	touch       func(f *fixture, by audit.By) error
}

var newPasswordCases = []newPasswordCase{
	{"an operator", "ana@metro.example", authz.Dashboard, []string{"metro", "nova"}, func(f *fixture, by audit.By) error {
		_, err := person.Store{DB: f.db}.Grant(context.Background(), f.db.Tenant(f.metro.ID), by, f.ana.ID, "VIEW_WALLETS")
		return err
	}},
	{"a rider", "rita@home.example", authz.Rider, []string{"metro"}, func(f *fixture, by audit.By) error {
		metro := f.db.Tenant(f.metro.ID)
		_, err := customer.Store.Change(context.Background(), metro, by, f.rita, func(r *customer.Record) error {
			r.FirstName = "Margarita"
			return nil
		})
		return err
	}},
	{"a driver", "dan@home.example", authz.Driver, []string{"metro"}, func(f *fixture, by audit.By) error {
		_, err := driver.Store.Change(context.Background(), f.db.Tenant(f.metro.ID), by, f.dan, func(r *driver.Record) error {
			r.Status = driver.Online
			return nil
		})
		return err
	}},
}

// inTenant returns the changes to an authorization request that asks only for
// openid in one tenant.
func inTenant(slug string) []string { return []string{"scope", "openid", "tenant_hint", slug} }

// tokensBefore returns tokens of the old password, one set for each tenant.
func (test newPasswordCase) tokensBefore(f *fixture, c client) (before []flow.Tokens) {
	f.t.Helper()
	for _, slug := range test.tenants {
		b := f.newBrowser()
		if slug == "nova" && test.audience != authz.Dashboard {
			b.base = novaURL
		}
		before = append(before, f.tokensBy(b, c, test.email, inTenant(slug)...))
	}
	return before
}

// signInAnew signs in with the new password and returns new tokens. No
// application is connected until the person consents again.
func (test newPasswordCase) signInAnew(f *fixture, c client, words string) flow.Tokens {
	f.t.Helper()
	b := f.newBrowser()
	s := b.follow(b.post(b.authorize(authorization(c, inTenant("metro")...)), "email", test.email, "password", words))
	if s.page() != "consent" {
		f.t.Fatalf("the new password: %s", s.text())
	}
	if got := b.get("/oauth/apps"); got.status != http.StatusOK || got.page() != "Connected applications" ||
		hasApp(got) {
		f.t.Errorf("connected applications: %d %s", got.status, got.text())
	}
	b.consent(s)
	return f.tokensBy(b, c, "", inTenant("metro")...)
}

// tokensEnded checks that the tokens of the old password are invalid.
func (test newPasswordCase) tokensEnded(f *fixture, o flow.Options, before []flow.Tokens) {
	f.t.Helper()
	for i, tokens := range before {
		if s, _ := f.userinfo(tokens.AccessToken); s.status != http.StatusUnauthorized {
			f.t.Errorf("the access token of %s: %d", test.tenants[i], s.status)
		}
		if _, err := flow.Refresh(context.Background(), o, tokens.RefreshToken); err == nil {
			f.t.Errorf("the refresh token of %s is good", test.tenants[i])
		}
	}
}

// tokensGood checks that the tokens of the new password, and another person's,
// are valid.
func tokensGood(f *fixture, o flow.Options, after, others flow.Tokens) {
	f.t.Helper()
	for name, token := range map[string]string{"of the new password": after.AccessToken,
		"another person's": others.AccessToken} {
		if s, _ := f.userinfo(token); s.status != http.StatusOK {
			f.t.Errorf("a token %s: %d", name, s.status)
		}
	}
	if _, err := flow.Refresh(context.Background(), o, after.RefreshToken); err != nil {
		f.t.Errorf("a refresh token of the new password: %v", err)
	}
}

// A new password ends everything from the old one: sessions, unredeemed codes,
// access and refresh tokens in every tenant, and consents. Later changes of the
// account's record neither revive old credentials nor end new ones.
func TestNewPasswordEndsWhatTheOldGave(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, test := range newPasswordCases {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			c := f.storeClient(func(c *client) {
				c.Audiences, c.Scopes = []authz.Audience{test.audience},
					authz.Scopes(test.audience)
			})
			o := flow.Options{BaseURL: baseURL, ClientID: c.ID, RedirectURI: plannerCallback, HTTPClient: f.client}
			verifier := ids.Secret()
			before := test.tokensBefore(f, c)
			signedIn := f.newBrowser()
			code := signedIn.obtainCode(authorization(c, append(inTenant("metro"), "code_challenge",
				challengeOf(verifier))...), test.email).answer.Get("code")
			others := f.tokensBy(f.newBrowser(), f.storeClient(nil), "bob@metro.example")
			f.advance(time.Second)
			tenantID := ""
			if test.audience != authz.Dashboard {
				tenantID = f.metro.ID
			}
			const words = "another battery staple"
			f.reset(test.audience, tenantID, test.email, words)

			if got := signedIn.authorize(authorization(c, inTenant("metro")...)).page(); got != "sign-in" {
				t.Errorf("the session: %s", got)
			}
			if _, err := flow.Exchange(context.Background(), o, code, verifier); err == nil {
				t.Error("the code is good")
			}
			after := test.signInAnew(f, c, words)
			f.advance(time.Second)
			testkit.Must(t, test.touch(f, audit.By{Who: "test", At: f.now()}))
			test.tokensEnded(f, o, before)
			tokensGood(f, o, after, others)
		})
	}
}

// A consent belongs to the membership in which it was given. Somebody who
// leaves and joins again must consent again, and the new consent permits only
// what the person agrees to now.
func TestConsentEndsWithTheMembership(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, c, b := context.Background(), f.storeClient(nil), f.newBrowser()
	b.obtainCode(authorization(c, "scope", "openid tenant.trips:read tenant.drivers:read"), "bob@metro.example")
	people, metro := person.Store{DB: f.db}, f.db.Tenant(f.metro.ID)
	testkit.Must(t, people.Leave(ctx, metro, audit.By{Who: "test", At: f.now()}, f.bob.ID))
	f.advance(time.Second)
	_, err := people.Join(ctx, metro, audit.By{Who: "test", At: f.now()}, f.bob.ID, "dispatcher",
		[]string{"VIEW_TRIPS", "VIEW_DRIVERS"})
	testkit.Must(t, err)
	if s := b.get("/oauth/apps"); hasApp(s) {
		t.Errorf("connected applications: %s", s.text())
	}
	if got := b.authorize(authorization(c, "scope", "openid", "prompt", "none")).page(); got != "consent_required" {
		t.Errorf("without a page: %s", got)
	}
	if got := b.consent(b.authorize(authorization(c, "scope", "openid"))).page(); got != "code" {
		t.Fatalf("asked again: %s", got)
	}
	for scope, want := range map[string]string{"openid": "code", "tenant.drivers:read": "consent"} {
		if got := b.authorize(authorization(c, "scope", scope)).page(); got != want {
			t.Errorf("%s: %s, want %s", scope, got, want)
		}
	}
	if s := b.get("/oauth/apps"); !hasApp(s) {
		t.Errorf("connected applications: %s", s.text())
	}
}
