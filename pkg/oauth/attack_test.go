package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
)

// TestAttacks runs the attacks of RFC 9700 section 4 and similar ones against
// the complete service. Each subtest's name says which attack it is.
func TestAttacks(t *testing.T) {
	testkit.LongHere(t)
	s := newService(t)
	for _, group := range []struct {
		name    string
		attacks []rule
	}{
		{"addresses", attacksByAddress}, {"pages", attacksOnPages}, {"browser", attacksByBrowser}, {"codes", attacksOnCodes},
		{"tokens", attacksOnTokens},
		{"signatures", attacksOnSignatures}, {"sizes", attacksBySize},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, a := range group.attacks {
				t.Run(a.name, func(t *testing.T) { a.hold(t, s) })
			}
		})
	}
}

var attacksByAddress = []rule{
	{"4.1 redirect addresses that look like a registered one", func(t *testing.T, s *service) {
		b := newServiceBrowser(t, s.Service)
		for _, uri := range []string{
			"https://app.example@evil.example/callback", "https://evil.example\\@app.example/callback",
			"https://app.example/callback/../other",
			"https://app.example/callback%2f..%2fother", "https://app.example/%63allback", "https://app.example/callback%00",
			"https://sub.app.example/callback",
			"https://app.example.evil.example/callback", "https://app.example/callback#",
			"https://app.example/callback#@evil.example", "https://app.example/callback?next=//evil.example",
			"https://app.example:444/callback", "//app.example/callback", "https:app.example/callback",
			"https://app.example/callback\r\nX-Evil: 1",
			"https://app.examplе/callback", "https://app。example/callback", "javascript:alert(1)//https://app.example/callback",
			"data:text/html,x",
		} {
			for _, extra := range [][]string{nil, {"prompt", "none"}, {"response_type", "token"}, {"scope", "nothing.such"}} {
				got := b.get("/oauth/authorize?" + s.authorization(s.public, append([]string{"redirect_uri", uri},
					extra...)...).Encode())
				if got.status != 400 || got.location != "" || strings.Contains(got.body, "href=\"https://evil") {
					t.Errorf("%q with %v: %d to %q", uri, extra, got.status, got.location)
				}
			}
		}
	}},
	{"4.1 the posted form is held to the same address", func(t *testing.T, s *service) {
		b := newServiceBrowser(t, s.Service)
		page := b.get("/oauth/authorize?" + s.authorization(s.public).Encode())
		to, csrf := page.form(t)
		changed := strings.Replace(to, url.QueryEscape(callback), url.QueryEscape("https://evil.example/"), 1)
		if changed == to {
			t.Fatal("the form does not carry the address")
		}
		got := b.do(http.MethodPost, changed, formOf("csrf", csrf, "email", s.rider.Email, "password", password))
		if got.status != 400 || got.location != "" || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%d to %q", got.status, got.location)
		}
	}},
	{"4.4 mix-up: every answer names the issuer, whatever the host it was asked by", func(t *testing.T, s *service) {
		for name, got := range map[string]response{
			"a code": s.answer(t, s.public), "an error": s.answer(t, s.public, "prompt", "none", "max_age", "0"),
			"by another host": s.browser.get("/oauth/authorize?"+s.authorization(s.public, "prompt", "none").Encode(),
				"X-Forwarded-Host", "evil.example"),
		} {
			if got.answer.Get("iss") != s.URL {
				t.Errorf("%s: %s", name, got.location)
			}
		}
	}},
	{"4.11 open redirector: sign-out goes to registered addresses of the hinted client alone",
		func(t *testing.T, s *service) {
			a := s.client(t, "token_endpoint_auth_method", "none", "post_logout_redirect_uris",
				[]string{"https://app.example/bye"})
			other := s.client(t, "token_endpoint_auth_method", "none", "post_logout_redirect_uris",
				[]string{"https://other.example/bye"})
			hint := s.signIn(t, a).ID
			for name, q := range map[string]url.Values{
				"not registered":   {"id_token_hint": {hint}, "post_logout_redirect_uri": {"https://evil.example/"}},
				"another client's": {"id_token_hint": {hint}, "post_logout_redirect_uri": {"https://other.example/bye"}},
				"another client's by id": {"id_token_hint": {hint}, "client_id": {other.id},
					"post_logout_redirect_uri": {"https://other.example/bye"}},
				"a trick": {"id_token_hint": {hint},
					"post_logout_redirect_uri": {"https://app.example@evil.example/bye"}},
				"nobody's": {"post_logout_redirect_uri": {"https://app.example/bye"}},
				"a forged hint": {"id_token_hint": {tampered(hint)},
					"post_logout_redirect_uri": {"https://app.example/bye"}},
				"an address for a script": {"id_token_hint": {hint}, "post_logout_redirect_uri": {"javascript:alert(1)"}},
			} {
				if got := newServiceBrowser(t, s.Service).get("/oauth/logout?" + q.Encode()); got.location != "" ||
					got.status != 400 {
					t.Errorf("%s: %d to %q", name, got.status, got.location)
				}
			}
		}},
	{"4.11 open redirector: the pages' own redirects stay on the service", func(t *testing.T, s *service) {
		b := newServiceBrowser(t, s.Service)
		for _, path := range []string{"/oauth/signin?//evil.example",
			"/oauth/consent?client_id=x&redirect_uri=https://evil.example/", "/oauth/tenant?https://evil.example",
			"/oauth/apps?next=https://evil.example&ui_locales=//evil.example",
			"/oauth/signin?audience=rider&tenant_hint=//evil.example", "/oauth//evil.example",
			"/oauth/authorize/..//evil.example"} {
			got := b.get(path)
			at, err := got.at.Parse(got.location)
			if err != nil || (got.location != "" && at.Host != got.at.Host) {
				t.Errorf("%s: to %q", path, got.location)
			}
		}
	}},
	{"4.11 open redirector: a faulty request sends nobody on whom the service does not know",
		func(t *testing.T, s *service) {
			a := s.client(t, "token_endpoint_auth_method", "none")
			for _, changes := range [][]string{{"scope", "nothing.such"}, {"response_type", "token"}, {"code_challenge", ""},
				{"resource", "https://other.example"}, {"prompt", "dance"},
				{"prompt", "none login"}, {"request", "eyJ"}} {
				stranger, known := newServiceBrowser(t, s.Service).get("/oauth/authorize?"+s.authorization(a, changes...).Encode()),
					s.answer(t, a, changes...)
				if stranger.location != "" || stranger.status != 400 || !strings.Contains(stranger.body, "app.example") {
					t.Errorf("%v: a stranger: %d to %q", changes, stranger.status, stranger.location)
				}
				if !strings.HasPrefix(known.location, callback+"?error=") {
					t.Errorf("%v: somebody known: %d to %q", changes, known.status, known.location)
				}
			}
			if got := newServiceBrowser(t, s.Service).get("/oauth/authorize?" + s.authorization(a, "prompt",
				"none").Encode()); got.page() != "login_required" {
				t.Errorf("without a page: %s", got.page())
			}
		}},
	{"4.12 no redirect repeats a POST: none is a 307 or 308", func(t *testing.T, s *service) {
		b := newServiceBrowser(t, s.Service)
		q := s.authorization(s.client(t, "token_endpoint_auth_method", "none"), "prompt", "login consent")
		signin := b.get("/oauth/authorize?" + q.Encode())
		entered := b.post(signin, "email", s.rider.Email, "password", password)
		consent := b.follow(entered)
		allowed := b.post(consent, "decision", "allow")
		posted := b.do(http.MethodPost, "/oauth/authorize", q)
		again := b.get("/oauth/authorize?" + s.authorization(s.public).Encode())
		for name, got := range map[string]response{"sign-in": entered, "authorize": posted, "the client": again} {
			if got.status != http.StatusSeeOther {
				t.Errorf("%s: %d", name, got.status)
			}
		}
		if allowed.page() != "code" || allowed.status != http.StatusOK || again.page() != "code" {
			t.Errorf("%d %s, then %s", allowed.status, allowed.page(), again.page())
		}
	}},
	{"4.13 forged Host and X-Forwarded-*: nothing that is said or set follows them", func(t *testing.T, s *service) {
		headers := [][]string{{"Host", "evil.example"}, {"X-Forwarded-Host", "evil.example"}, {"X-Forwarded-Proto", "gopher"},
			{"X-Forwarded-Port", "666"},
			{"Forwarded", `for=6.6.6.6;host=evil.example;proto=gopher`}, {"X-Original-Host", "evil.example"},
			{"X-Host", "evil.example"}, {"X-Forwarded-Server", "evil.example"},
			{"X-Original-URL", "/evil.example"}, {"X-Rewrite-URL", "/evil.example"}, {"X-Forwarded-Prefix", "/evil.example"}}
		for _, header := range headers {
			for _, path := range []string{"/.well-known/openid-configuration", "/.well-known/oauth-protected-resource",
				"/oauth/authorize?" + s.authorization(s.public).Encode(),
				"/oauth/authorize?" + s.authorization(s.public, "prompt", "none").Encode(),
				"/oauth/apps?audience=rider&tenant_hint=metro", "/api/v1/me/trips"} {
				got := newServiceBrowser(t, s.Service).get(path, header...)
				said := got.body + got.location + strings.Join(got.header.Values("Set-Cookie"), " ") +
					got.header.Get("WWW-Authenticate") + got.header.Get("Content-Security-Policy")
				if strings.Contains(said, "evil.example") || strings.Contains(said, "gopher") || strings.Contains(said, ":666") {
					t.Errorf("%v at %s: %s", header, path, said)
				}
			}
			b := *s.browser
			b.t = t
			if got := b.get("/oauth/authorize?"+s.authorization(s.public, "prompt", "none").Encode(),
				header...); got.answer.Get("iss") != s.URL {
				t.Errorf("%v: iss %q", header, got.answer.Get("iss"))
			}
		}
	}},
	{"4.13 forged X-Forwarded-For: a throttle counts who sends, not who is named", func(t *testing.T, s *service) {
		limits := apptest.Unthrottled
		limits.Registrations = 2
		own := apptest.With(t, apptest.Options{Limits: limits})
		own.Clock.Hold() // within one window
		body := `{"client_name":"P","redirect_uris":["https://app.example/cb"],"audiences":["rider"]}`
		status := 0
		for _, from := range []string{"6.6.6.1", "6.6.6.2", "6.6.6.3"} {
			status = own.Do(t, apptest.Request{Method: http.MethodPost, Path: "/oauth/register", Body: body,
				Header: map[string]string{"X-Forwarded-For": from, "Forwarded": "for=" + from, "X-Real-Ip": from,
					"True-Client-Ip": from}}).Status
		}
		if status != http.StatusTooManyRequests {
			t.Errorf("the third: %d", status)
		}
	}},
}

var attacksOnPages = []rule{
	{"4.16 clickjacking: no page may be framed, nor keep or send anything", func(t *testing.T, s *service) {
		b := newServiceBrowser(t, s.Service)
		signin := b.get("/oauth/authorize?" + s.authorization(s.client(t)).Encode())
		consent := b.signIn(signin, s.rider.Email)
		pages := map[string]response{"sign-in": signin, "consent": consent, "wrong password": newServiceBrowser(t,
			s.Service).attempt(s, s.public), "apps": b.get("/oauth/apps"),
			"sign-out": b.get("/oauth/logout"), "an error": b.get("/oauth/authorize?x"),
			"a link":         b.get("/oauth/password?link=x"),
			"unknown client": b.get("/oauth/authorize?" + s.authorization(registration{id: "cli_x"}).Encode())}
		for name, page := range pages {
			policy, caching := page.header.Get("Content-Security-Policy"), "no-store"
			if name == "wrong password" { // only the browser keeps it, for its back button
				caching = "private, no-cache"
			}
			if strings.Contains(page.body, `value="wrong"`) || page.header.Get("Cache-Control") != caching {
				t.Errorf("%s: %v\n%s", name, page.header, page.text())
			}
			for _, want := range []string{"frame-ancestors 'none'", "default-src 'none'", "base-uri 'none'",
				"form-action 'self'"} {
				if !strings.Contains(policy, want) {
					t.Errorf("%s: policy %q lacks %s", name, policy, want)
				}
			}
			if strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") ||
				page.header.Get("X-Frame-Options") != "DENY" || page.header.Get("Referrer-Policy") != "no-referrer" ||
				page.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: headers %v", name, page.header)
			}
			if strings.Contains(page.body, "<script") {
				t.Errorf("%s has a script", name)
			}
		}
	}},
	{"4.7 CSRF on sign-in: another browser's form signs nobody in", func(t *testing.T, s *service) {
		victim, attacker := newServiceBrowser(t, s.Service), newServiceBrowser(t, s.Service)
		q := s.authorization(s.public)
		to, csrf := attacker.get("/oauth/authorize?" + q.Encode()).form(t)
		victim.get("/oauth/authorize?" + q.Encode())
		for name, token := range map[string]string{"the attacker's": csrf, "none": "", "garbage": strings.Repeat("A", 43)} {
			got := victim.do(http.MethodPost, to, formOf("csrf", token, "email", s.rider.Email, "password", password))
			if got.page() == "code" || strings.Contains(strings.Join(got.header.Values("Set-Cookie"), " "), "svc-session") {
				t.Errorf("%s: %d to %q", name, got.status, got.location)
			}
		}
		if got := victim.get("/oauth/authorize?" +
			s.authorization(s.public, "prompt", "none").Encode()).page(); got != "login_required" {
			t.Errorf("afterwards: %s", got)
		}
	}},
	{"4.7 CSRF on consent, apps and sign-out: another person's token does nothing", func(t *testing.T, s *service) {
		vera := s.Rider(t, "metro", "vera")
		a := s.client(t, "token_endpoint_auth_method", "none")
		victim, attacker := newServiceBrowser(t, s.Service), newServiceBrowser(t, s.Service)
		q := s.authorization(a)
		mine := victim.signIn(victim.get("/oauth/authorize?"+q.Encode()), s.rider.Email)
		to, theirs := attacker.signIn(attacker.get("/oauth/authorize?"+q.Encode()), vera.Email).form(t)
		for name, token := range map[string]string{"the attacker's": theirs, "none": "", "garbage": "x"} {
			if got := victim.do(http.MethodPost, to, formOf("csrf", token, "decision", "allow")); got.answer.Has("code") {
				t.Errorf("consent, %s: a code", name)
			}
		}
		tokens := apptest.JSON[granted](t, s.redeem(t, a, victim.post(mine, "decision", "allow").answer.Get("code")).Must(t,
			200))
		attacker.finish(q, vera.Email)
		_, theirs = attacker.get("/oauth/apps").form(t)
		victim.do(http.MethodPost, "/oauth/apps", formOf("csrf", theirs, "client", a.id, "of", s.Metro.ID))
		// ends only her own access
		attacker.do(http.MethodPost, "/oauth/apps", formOf("csrf", theirs, "client", a.id, "of", s.Metro.ID))
		if !s.lives(t, tokens.Access) {
			t.Error("the access was ended")
		}
		_, theirs = attacker.get("/oauth/logout").form(t)
		victim.do(http.MethodPost, "/oauth/logout", formOf("csrf", theirs))
		victim.do(http.MethodPost, "/oauth/logout", formOf())
		if got := victim.get("/oauth/authorize?" + s.authorization(a, "prompt", "none").Encode()).page(); got != "code" {
			t.Errorf("signed out: %s", got)
		}
	}},
	{"a session of one tenant is none of another, by whatever host", func(t *testing.T, s *service) {
		s.Rider(t, "harbor", "rosa")
		b := newServiceBrowser(t, s.Service)
		if got := b.finish(s.authorization(s.public), s.rider.Email).page(); got != "code" {
			t.Fatal(got)
		}
		for _, header := range [][]string{nil, {"Host", "harbor.example"}} {
			if got := b.get("/oauth/authorize?"+s.authorization(s.public, "tenant_hint", "harbor").Encode(),
				header...).page(); got != "sign-in" {
				t.Errorf("%v: %s", header, got)
			}
			if got := b.get("/oauth/authorize?"+s.authorization(s.public, "tenant_hint", "harbor", "prompt", "none").Encode(),
				header...).page(); got != "login_required" {
				t.Errorf("%v, without a page: %s", header, got)
			}
		}
		if got := b.get("/oauth/apps?audience=rider&tenant_hint=harbor").page(); got != "sign-in" {
			t.Errorf("apps: %s", got)
		}
	}},
	{"an operator's session gives no code of a tenant without a membership", func(t *testing.T, s *service) {
		olga := s.Operator(t, "metro", "olga")
		a := s.client(t, "audiences", []string{"dashboard"}, "token_endpoint_auth_method", "none")
		b := newServiceBrowser(t, s.Service)
		if got := b.finish(s.authorization(a, "scope", "openid tenant.trips:read"), olga.Email).page(); got != "code" {
			t.Fatal(got)
		}
		for _, prompt := range []string{"", "none"} {
			got := b.finish(s.authorization(a, "scope", "openid tenant.trips:read", "tenant_hint", "harbor", "prompt", prompt),
				olga.Email)
			if got.answer.Has("code") {
				t.Errorf("prompt %q: a code", prompt)
			}
		}
	}},
}

// attempt posts a wrong password.
func (b *browser) attempt(s *service, a registration) response {
	return b.post(b.get("/oauth/authorize?"+s.authorization(a).Encode()), "email", s.rider.Email, "password", "wrong")
}
