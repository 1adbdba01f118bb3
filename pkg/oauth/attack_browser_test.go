package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/apptest"
)

// Attacks through what a browser stores, sends or shares with other windows.
var attacksByBrowser = []rule{
	{"4.2 Referer: no page and no redirect sends one, and no page loads what a client chose",
		func(t *testing.T, s *service) {
			a := s.client(t, "token_endpoint_auth_method", "none", "logo_uri", "https://app.example/logo.png", "client_uri",
				"https://app.example/")
			b := newServiceBrowser(t, s.Service)
			signin := b.get("/oauth/authorize?" + s.authorization(a).Encode())
			entered := b.post(signin, "email", s.rider.Email, "password", password)
			consent := b.follow(entered)
			allowed := b.post(consent, "decision", "allow")
			again := b.get("/oauth/authorize?" + s.authorization(a).Encode())
			for name, got := range map[string]response{"sign-in": signin, "signed in": entered, "consent": consent,
				"allowed": allowed, "remembered": again} {
				if got.header.Get("Referrer-Policy") != "no-referrer" || strings.Contains(got.body, "logo.png") {
					t.Errorf("%s: %v %s", name, got.header, got.body)
				}
			}
			if allowed.page() != "code" || again.page() != "code" {
				t.Errorf("%s, %s", allowed.page(), again.page())
			}
		}},
	{"4.3 browser history: an address seen later is worth nothing, and no token is in one",
		func(t *testing.T, s *service) {
			got := s.answer(t, s.public)
			if got.answer.Has("access_token") || got.answer.Has("id_token") || got.at.Query().Has("access_token") {
				t.Errorf("to %s", got.location)
			}
			if got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("kept: %v", got.header)
			}
			code := got.answer.Get("code")
			tokens := apptest.JSON[granted](t, s.redeem(t, s.public, code).Must(t, http.StatusOK))
			refused(t, s.redeem(t, s.public, code, "code_verifier", strings.Repeat("b", 43)), 400, "invalid_grant")
			if !s.lives(t, tokens.Access) {
				t.Error("the address in the history ended the tokens")
			}
			for _, path := range []string{"/api/v1/me/trips", "/oauth/userinfo"} {
				if a := s.Get(t, "", path+"?"+url.Values{"access_token": {tokens.Access}}.Encode()); a.Status == http.StatusOK {
					t.Errorf("%s takes a token in the address", path)
				}
			}
		}},
	{"4.6 access token injection: an id_token names its access token and its request", func(t *testing.T, s *service) {
		mine, other := s.signIn(t, s.public, "nonce", "n-mine"), s.signIn(t, s.public, "nonce", "n-other")
		_, first := claims(t, mine.ID)
		_, second := claims(t, other.ID)
		if first["nonce"] != "n-mine" || second["nonce"] != "n-other" || first["at_hash"] == second["at_hash"] ||
			first["at_hash"] == nil {
			t.Errorf("%v, %v", first, second)
		}
	}},
	{"4.9 a counterfeit resource server: no token for another resource, and none of ours says more than its audience",
		func(t *testing.T, s *service) {
			for _, resource := range []string{"https://evil.example/api", s.URL, s.URL + "/api/v1/", s.URL + "/api/v1#",
				"not an address"} {
				if got := s.answer(t, s.public, "resource", resource).page(); got != "invalid_target" {
					t.Errorf("%s: %s", resource, got)
				}
				refused(t, s.redeem(t, s.public, s.code(t, s.public), "resource", resource), 400, "invalid_target")
			}
			_, c := claims(t, s.signIn(t, s.public).Access)
			if c["aud"] != "rider" {
				t.Errorf("aud %v", c["aud"])
			}
		}},
	{"4.17 in-browser communication: no answer goes to another window", func(t *testing.T, s *service) {
		for _, mode := range []string{"web_message", "form_post.jwt", "fragment", "query.jwt"} {
			if got := s.answer(t, s.public, "response_mode", mode).page(); got != "invalid_request" {
				t.Errorf("%s: %s", mode, got)
			}
		}
		for _, kind := range []string{"token", "id_token", "code token", "code id_token", "none"} {
			if got := s.answer(t, s.public, "response_type", kind).page(); got != "unsupported_response_type" {
				t.Errorf("%s: %s", kind, got)
			}
		}
		page := newServiceBrowser(t, s.Service).get("/oauth/authorize?" + s.authorization(s.public).Encode())
		if strings.Contains(page.body, "postMessage") || strings.Contains(page.body, "<script") ||
			page.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%v %s", page.header, page.body)
		}
	}},
}
