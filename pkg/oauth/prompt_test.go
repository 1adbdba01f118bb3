package oauth

import (
	"context"
	"testing"
	"time"

	"svc/pkg/audit"
	"svc/pkg/person"
)

// OpenID Connect Core section 3.1.2.1, prompt and max_age: what is shown to
// whom.
func TestPrompt(t *testing.T) {
	type state int
	const (
		stranger  state = iota // not signed in
		known                  // signed in for another client
		consented              // signed in and agreed for this one
	)
	h := newHouse(t)
	c, other := h.planner(nil), h.planner(nil)
	anas, bobs := h.tokens(h.visitor(), other, "ana@metro.example").IDToken, h.tokens(h.visitor(), other, "bob@metro.example").IDToken
	for _, test := range []struct {
		name    string
		state   state
		pass    time.Duration
		changes []string
		want    string
	}{
		{"stranger", stranger, 0, nil, "sign-in"},
		{"stranger, none", stranger, 0, []string{"prompt", "none"}, "login_required"},
		{"stranger, consent", stranger, 0, []string{"prompt", "consent"}, "sign-in"},
		{"known", known, 0, nil, "consent"},
		{"known, none", known, 0, []string{"prompt", "none"}, "consent_required"},
		{"known, login", known, 0, []string{"prompt", "login"}, "sign-in"},
		{"consented", consented, 0, nil, "code"},
		{"consented, none", consented, 0, []string{"prompt", "none"}, "code"},
		{"consented, login", consented, 0, []string{"prompt", "login"}, "sign-in"},
		{"consented, another account", consented, 0, []string{"prompt", "select_account"}, "sign-in"},
		{"consented, consent", consented, 0, []string{"prompt", "consent"}, "consent"},
		{"consented, login and consent", consented, 0, []string{"prompt", "login consent"}, "sign-in"},
		{"more scopes", consented, 0, []string{"scope", "openid tenant.trips:read tenant.drivers:read"}, "consent"},
		{"more scopes, none", consented, 0, []string{"scope", "openid tenant.trips:read tenant.drivers:read", "prompt", "none"}, "consent_required"},
		{"fewer scopes", consented, 0, []string{"scope", "openid"}, "code"},
		{"young enough", consented, time.Minute, []string{"max_age", "60"}, "code"},
		{"too old", consented, time.Minute + time.Second, []string{"max_age", "60"}, "sign-in"},
		{"too old, none", consented, time.Minute + time.Second, []string{"max_age", "60", "prompt", "none"}, "login_required"},
		{"max_age 0", consented, time.Second, []string{"max_age", "0"}, "sign-in"},
		{"session at its end", consented, SessionLife - time.Second, nil, "code"},
		{"session over", consented, SessionLife, nil, "sign-in"},
		{"a hint that is no id_token", consented, 0, []string{"id_token_hint", "eyJhbGciOiJub25lIn0.e30."}, "login_required"},
		{"a hint of her own", consented, 0, []string{"id_token_hint", anas, "prompt", "none"}, "code"},
		{"a hint of somebody else", consented, 0, []string{"id_token_hint", bobs}, "sign-in"},
		{"a hint of somebody else, none", consented, 0, []string{"id_token_hint", bobs, "prompt", "none"}, "login_required"},
		{"several memberships", consented, 0, []string{"tenant_hint", ""}, "picker"},
		{"several memberships, none", consented, 0, []string{"tenant_hint", "", "prompt", "none"}, "account_selection_required"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, now := h.visitor(), h.clock()
			defer func() { h.pass(now.Sub(h.clock())) }()
			switch test.state {
			case known:
				v.through(ask(other), "ana@metro.example")
				h.forget(c)
			case consented:
				v.through(ask(c, "prompt", "login consent"), "ana@metro.example")
			}
			h.pass(test.pass)
			if got := v.authorize(ask(c, append([]string{"state", "s-2"}, test.changes...)...)).page(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			h.forget(c)
		})
	}
}

// forget takes Ana's consent back.
func (h *house) forget(c Client) {
	must(h.t, h.server.forget(context.Background(), h.db.Tenant(h.metro.ID), c.ID, h.ana.ID))
}

// A sign-in that was asked for satisfies the request that asked for it, once.
func TestPromptIsSatisfiedOnce(t *testing.T) {
	for name, change := range map[string][]string{"prompt=login": {"prompt", "login"}, "max_age=0": {"max_age", "0"}} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			c := h.planner(nil)
			v, q := h.visitor(), ask(c, change...)
			v.through(ask(c), "ana@metro.example")
			h.pass(time.Minute)
			s := v.enter(v.authorize(q), "ana@metro.example")
			if got := s.page(); got != "code" {
				t.Fatalf("after the sign-in: %s", got)
			}
			h.pass(time.Second)
			if got := v.authorize(q).page(); got != "sign-in" {
				t.Errorf("the same request again: %s", got)
			}
			if name == "prompt=login" {
				if got := v.authorize(ask(c)).page(); got != "code" {
					t.Errorf("a request without it: %s", got)
				}
			}
		})
	}
}

// OpenID Connect Core section 3.1.2.2: nobody but the one hinted at is answered
// for, whoever signs in.
func TestIDTokenHintNamesSomebodyElse(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	hint := h.tokens(h.visitor(), c, "bob@metro.example").IDToken
	v := h.visitor()
	if got := v.enter(v.authorize(ask(c, "id_token_hint", hint)), "ana@metro.example").page(); got != "login_required" {
		t.Errorf("got %s", got)
	}
}

// auth_time is when the person signed in, not when the code was asked for.
func TestAuthTime(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	v, began := h.visitor(), h.clock()
	v.through(ask(c), "ana@metro.example")
	h.pass(time.Hour)
	s := v.through(ask(c, "nonce", "n-1"), "")
	it, err := h.server.p.Get(context.Background(), h.server.codeKey(s.answer.Get("code")))
	must(t, err)
	var code AuthorizationCode
	must(t, it.Decode(&code))
	if !code.AuthTime.Equal(began) || code.Nonce != "n-1" || code.Actor != h.ana.ID || code.TenantID != h.metro.ID || code.RedirectURI != callback {
		t.Errorf("%+v", code)
	}
}

// Granted is what is asked for, registered, and allowed to the person now.
func TestGrantedScopes(t *testing.T) {
	h := newHouse(t)
	c := h.planner(func(c *Client) {
		c.Scopes = []string{"openid", "tenant.trips:read", "tenant.drivers:read", "tenant.wallets:read"}
	})
	granted := func(s seen) []string {
		it, err := h.server.p.Get(context.Background(), h.server.codeKey(s.answer.Get("code")))
		must(t, err)
		var code AuthorizationCode
		must(t, it.Decode(&code))
		return code.Scopes
	}
	v := h.visitor()
	s := v.through(ask(c, "scope", "tenant.wallets:read tenant.drivers:read tenant.reports:read tenant.trips:read"), "bob@metro.example")
	if got := granted(s); len(got) != 2 || got[0] != "tenant.drivers:read" || got[1] != "tenant.trips:read" {
		t.Errorf("granted %v", got)
	}
	people, by := person.Store{DB: h.db}, audit.By{Who: "test", At: h.clock()}
	_, err := people.Revoke(context.Background(), h.db.Tenant(h.metro.ID), by, h.bob.ID, "VIEW_DRIVERS")
	must(t, err)
	if got := granted(v.through(ask(c, "scope", ""), "")); len(got) != 2 || got[0] != "openid" || got[1] != "tenant.trips:read" {
		t.Errorf("granted after a permission was taken: %v", got)
	}
	if got := v.authorize(ask(c, "scope", "tenant.drivers:read")).page(); got != "invalid_scope" {
		t.Errorf("nothing left: %s", got)
	}
	rider := h.planner(riders)
	v = h.visitor()
	if got := v.enter(v.authorize(ask(rider, "scope", "rider.orders:read")), "rita@home.example").page(); got != "invalid_scope" {
		t.Errorf("a scope whose feature is off: %s", got)
	}
}
