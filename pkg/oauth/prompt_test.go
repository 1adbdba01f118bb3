package oauth_test

import (
	"context"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/data/audit"
	"svc/pkg/domain/person"
	"svc/pkg/oauth/session"
)

// promptState is what the person has done before the request.
type promptState int

const (
	stranger  promptState = iota // not signed in
	known                        // signed in for another client
	consented                    // signed in and agreed for this one
)

// prompted returns the page that answers a request with the changes, some time
// after ana got into the state. other is the client that she used before.
func (f *fixture) prompted(state promptState, other client, pass time.Duration, changes []string) string {
	f.t.Helper()
	b, c, now := f.newBrowser(), f.storeClient(nil), f.now()
	defer func() { f.advance(now.Sub(f.now())) }()
	switch state {
	case known:
		b.obtainCode(authorization(other), "ana@metro.example")
	case consented:
		b.obtainCode(authorization(c, "prompt", "login consent"), "ana@metro.example")
	}
	f.advance(pass)
	return b.authorize(authorization(c, append([]string{"state", "s-2"}, changes...)...)).page()
}

// OpenID Connect Core section 3.1.2.1: prompt and max_age decide which page a
// person sees.
func TestPrompt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.storeClient(nil)
	anas, bobs := f.tokensBy(f.newBrowser(), other, "ana@metro.example").IDToken,
		f.tokensBy(f.newBrowser(), other, "bob@metro.example").IDToken
	for _, test := range []struct {
		name    string
		state   promptState
		pass    time.Duration
		changes []string
		want    string
	}{
		{"stranger", stranger, 0, nil, "sign-in"},
		{"stranger, none", stranger, 0, []string{"prompt", "none"}, "login_required"},
		{"stranger, consent", stranger, 0, []string{"prompt", "consent"}, "sign-in"},
		{"known", known, 0, nil, "consent"},
		{"known, none", known, 0, []string{"prompt", "none"}, "consent_required"},
		{"known, none, her address", known, 0, []string{"prompt", "none", "login_hint", "ana@metro.example"},
			"consent_required"},
		{"known, none, another address", known, 0, []string{"prompt", "none", "login_hint", "bob@metro.example"},
			"consent_required"},
		{"consented, none, another address", consented, 0, []string{"prompt", "none", "login_hint", "bob@metro.example"},
			"login_required"},
		{"several memberships, none, another address", known, 0, []string{"tenant_hint", "", "prompt", "none", "login_hint",
			"bob@metro.example"}, "account_selection_required"},
		{"known, login", known, 0, []string{"prompt", "login"}, "sign-in"},
		{"consented", consented, 0, nil, "code"},
		{"consented, none", consented, 0, []string{"prompt", "none"}, "code"},
		{"consented, login", consented, 0, []string{"prompt", "login"}, "sign-in"},
		{"consented, another account", consented, 0, []string{"prompt", "select_account"}, "sign-in"},
		{"consented, consent", consented, 0, []string{"prompt", "consent"}, "consent"},
		{"consented, login and consent", consented, 0, []string{"prompt", "login consent"}, "sign-in"},
		{"more scopes", consented, 0, []string{"scope", "openid tenant.trips:read tenant.drivers:read"}, "consent"},
		{"more scopes, none", consented, 0, []string{"scope", "openid tenant.trips:read tenant.drivers:read", "prompt",
			"none"}, "consent_required"},
		{"fewer scopes", consented, 0, []string{"scope", "openid"}, "code"},
		{"young enough", consented, time.Minute, []string{"max_age", "60"}, "code"},
		{"too old", consented, time.Minute + time.Second, []string{"max_age", "60"}, "sign-in"},
		{"too old, none", consented, time.Minute + time.Second, []string{"max_age", "60", "prompt", "none"},
			"login_required"},
		{"max_age 0", consented, time.Second, []string{"max_age", "0"}, "sign-in"},
		{"session at its end", consented, session.Life - time.Second, nil, "code"},
		{"session over", consented, session.Life, nil, "sign-in"},
		{"a hint that is no id_token", consented, 0, []string{"id_token_hint", "eyJhbGciOiJub25lIn0.e30."}, "login_required"},
		{"a hint of her own", consented, 0, []string{"id_token_hint", anas, "prompt", "none"}, "code"},
		{"a hint of somebody else", consented, 0, []string{"id_token_hint", bobs}, "sign-in"},
		{"a hint of somebody else, none", consented, 0, []string{"id_token_hint", bobs, "prompt", "none"}, "login_required"},
		{"several memberships", consented, 0, []string{"tenant_hint", ""}, "picker"},
		{"several memberships, none", consented, 0, []string{"tenant_hint", "", "prompt", "none"},
			"account_selection_required"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := f.prompted(test.state, other, test.pass, test.changes); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A sign-in that was asked for satisfies the request that asked for it, once.
func TestPromptIsSatisfiedOnce(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][]string{"prompt=login": {"prompt", "login"}, "max_age=0": {"max_age", "0"}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			c := f.storeClient(nil)
			b, q := f.newBrowser(), authorization(c, change...)
			b.obtainCode(authorization(c), "ana@metro.example")
			f.advance(time.Minute)
			s := b.signIn(b.authorize(q), "ana@metro.example")
			if got := s.page(); got != "code" {
				t.Fatalf("after the sign-in: %s", got)
			}
			f.advance(time.Second)
			if got := b.authorize(q).page(); got != "sign-in" {
				t.Errorf("the same request again: %s", got)
			}
			if name == "prompt=login" {
				if got := b.authorize(authorization(c)).page(); got != "code" {
					t.Errorf("a request without it: %s", got)
				}
			}
		})
	}
}

// OpenID Connect Core section 3.1.2.2: only the person named by the hint gets a
// code, even if somebody else signs in.
func TestIDTokenHintNamesSomebodyElse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	hint := f.tokensBy(f.newBrowser(), c, "bob@metro.example").IDToken
	b := f.newBrowser()
	if got := b.signIn(b.authorize(authorization(c, "id_token_hint", hint)),
		"ana@metro.example").page(); got != "login_required" {
		t.Errorf("got %s", got)
	}
}

// auth_time is when the person signed in, not when the client requested the
// code.
func TestAuthTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b, began := f.newBrowser(), f.now()
	b.obtainCode(authorization(c), "ana@metro.example")
	f.advance(time.Hour)
	s := b.obtainCode(authorization(c, "nonce", "n-1"), "")
	code := f.storedCode(s.answer.Get("code"))
	if !code.AuthTime.Equal(began) || code.Nonce != "n-1" || code.Actor != f.ana.ID || code.Tenant != f.metro.ID ||
		code.RedirectURI != plannerCallback {
		t.Errorf("%+v", code)
	}
}

// The granted scopes are those that are requested, registered for the client,
// and allowed to the person now.
func TestGrantedScopes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(func(c *client) {
		c.Scopes = []string{"openid", "tenant.trips:read", "tenant.drivers:read", "tenant.wallets:read"}
	})
	granted := func(s response) []string {
		code := f.storedCode(s.answer.Get("code"))
		return code.Scopes
	}
	b := f.newBrowser()
	s := b.obtainCode(authorization(c, "scope",
		"tenant.wallets:read tenant.drivers:read tenant.reports:read tenant.trips:read"), "bob@metro.example")
	if got := granted(s); len(got) != 2 || got[0] != "tenant.drivers:read" || got[1] != "tenant.trips:read" {
		t.Errorf("granted %v", got)
	}
	people, by := person.Store{DB: f.db}, audit.By{Who: "test", At: f.now()}
	_, err := people.Revoke(context.Background(), f.db.Tenant(f.metro.ID), by, f.bob.ID, "VIEW_DRIVERS")
	testkit.Must(t, err)
	if got := granted(b.obtainCode(authorization(c, "scope", ""), "")); len(got) != 2 || got[0] != "openid" ||
		got[1] != "tenant.trips:read" {
		t.Errorf("granted after a permission was revoked: %v", got)
	}
	if got := b.authorize(authorization(c, "scope", "tenant.drivers:read")).page(); got != "invalid_scope" {
		t.Errorf("nothing left: %s", got)
	}
	rider := f.storeClient(forRiders)
	b = f.newBrowser()
	if got := b.signIn(b.authorize(authorization(rider, "scope", "rider.orders:read")),
		"rita@home.example").page(); got != "invalid_scope" {
		t.Errorf("a scope whose feature is off: %s", got)
	}
}

// A sign-in satisfies prompt=login and max_age=0 for ten minutes, and not for as long
// as the session lives. In these minutes the person may read the consent page.
func TestFreshSignInExpires(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][]string{"prompt=login": {"prompt", "login"}, "max_age=0": {"max_age", "0"}} {
		for pass, want := range map[time.Duration]string{9 * time.Minute: "consent", 10 * time.Minute: "sign-in"} {
			t.Run(name+" after "+pass.String(), func(t *testing.T) {
				f := newFixture(t)
				b, q := f.newBrowser(), authorization(f.storeClient(nil), change...)
				if got := b.signIn(b.authorize(q), "ana@metro.example").page(); got != "consent" {
					t.Fatalf("after the sign-in: %s", got)
				}
				f.advance(pass)
				if got := b.authorize(q).page(); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
}

// Pages over https tell the browser to stay on https (RFC 6797) and to separate
// them from the page that opened them.
func TestPageHeaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	h := f.newBrowser().authorize(authorization(f.storeClient(nil))).header
	if got := h.Get("Strict-Transport-Security"); got != "max-age=31536000" {
		t.Errorf("Strict-Transport-Security is %q", got)
	}
	if got := h.Get("Cross-Origin-Opener-Policy"); got != "same-origin" {
		t.Errorf("Cross-Origin-Opener-Policy is %q", got)
	}
}
