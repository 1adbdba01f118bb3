package conformance

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/oauth/flow"
)

// golang.org/x/oauth2 and coreos/go-oidc: discovery, code with PKCE, id_token
// with nonce and at_hash, userinfo, refresh.
func TestGoClients(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	for _, test := range []struct {
		name   string
		who    apptest.Actor
		scopes []string
	}{
		{"an operator", s.Operator(t, "metro", "olga"), []string{oidc.ScopeOpenID, "email", "profile", "tenant.trips:read"}},
		{"a rider", s.Rider(t, "metro", "rita"), []string{oidc.ScopeOpenID, "email", "rider.profile:read"}},
		{"a driver", s.Driver(t, "harbor", "dan"), []string{oidc.ScopeOpenID, "email", "driver.profile:read"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := t.Context()
			provider, err := oidc.NewProvider(ctx, s.URL)
			testkit.Must(t, err)
			client, err := flow.Register(ctx, flow.Options{BaseURL: s.URL, Audience: string(test.who.Audience),
				RedirectURI: callback})
			testkit.Must(t, err)
			config := oauth2.Config{ClientID: client.ID, Endpoint: provider.Endpoint(), RedirectURL: callback,
				Scopes: test.scopes}
			verifier := oauth2.GenerateVerifier()
			person := flow.NewBrowser(flow.Options{BaseURL: s.URL, Tenant: test.who.Tenant, Email: test.who.Email,
				Password: apptest.Password})
			sent, err := url.Parse(visit(t, person, s.URL, config.AuthCodeURL("state-1", oauth2.S256ChallengeOption(verifier),
				oidc.Nonce("nonce-1"),
				oauth2.SetAuthURLParam("tenant_hint", test.who.Tenant))))
			testkit.Must(t, err)
			if sent.Query().Get("state") != "state-1" || sent.Query().Get("iss") != s.URL {
				t.Fatalf("the answer is %v", sent.Query())
			}
			token, err := config.Exchange(ctx, sent.Query().Get("code"), oauth2.VerifierOption(verifier))
			testkit.Must(t, err)
			identified(ctx, t, provider, client.ID, token, test.who)
			if got := s.Get(t, token.AccessToken, "/api/v1/me").Status; got != http.StatusOK {
				t.Errorf("/api/v1/me: %d", got)
			}
			old := *token
			old.Expiry = time.Now().Add(-time.Minute)
			next, err := config.TokenSource(ctx, &old).Token()
			testkit.Must(t, err)
			if next.AccessToken == token.AccessToken || next.RefreshToken == token.RefreshToken {
				t.Error("the refresh gave the same tokens")
			}
			if got := s.Get(t, next.AccessToken, "/api/v1/me").Status; got != http.StatusOK {
				t.Errorf("/api/v1/me after the refresh: %d", got)
			}
		})
	}
}

// identified checks the id_token and userinfo.
func identified(ctx context.Context, t *testing.T, provider *oidc.Provider, clientID string, token *oauth2.Token,
	who apptest.Actor) {
	t.Helper()
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: clientID}).Verify(ctx, raw)
	testkit.Must(t, err)
	testkit.Must(t, id.VerifyAccessToken(token.AccessToken))
	if id.Nonce != "nonce-1" || id.Subject != who.ID {
		t.Errorf("id_token of %s with nonce %s", id.Subject, id.Nonce)
	}
	user, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	testkit.Must(t, err)
	if user.Subject != who.ID || user.Email != who.Email {
		t.Errorf("userinfo %+v", user)
	}
}
