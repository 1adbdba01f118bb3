package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Signing out leads to a client's address by itself only if it ended the session
// of the person that the id_token_hint names.
func TestLogoutRedirects(t *testing.T) {
	f := newFixture(t)
	c := f.storeClient(nil)
	bye := url.Values{"post_logout_redirect_uri": {"https://planner.example/bye"}, "state": {"x"},
		"client_id": {c.ID}}.Encode()
	anas := f.tokensBy(f.newBrowser(), c, "ana@metro.example").IDToken
	hinted := bye + "&id_token_hint=" + anas
	for name, test := range map[string]struct {
		query, person string // who is signed in
		redirect      bool
	}{
		"nobody, without a hint":                {bye, "", false},
		"nobody, with a hint":                   {hinted, "", false},
		"another person than the hint's":        {hinted, "bob@metro.example", false},
		"the person of the hint":                {hinted, "ana@metro.example", true},
		"the person of the hint, after a while": {hinted + "&ui_locales=es", "ana@metro.example", true},
	} {
		b := f.newBrowser()
		if test.person != "" {
			f.tokensBy(b, c, test.person)
		}
		s := b.get("/oauth/logout?" + test.query)
		if s.page() == "Sign out?" {
			s = b.do(http.MethodPost, "/oauth/logout", hiddenInputs(s))
		}
		if redirects := s.location == "https://planner.example/bye?state=x"; redirects != test.redirect {
			t.Errorf("%s: %d %s", name, s.status, s.text())
		}
		if link := strings.Contains(s.body, `href="https://planner.example/bye?state=x"`); link == test.redirect {
			t.Errorf("%s: a link is %v", name, link)
		}
		if s = b.get("/oauth/logout?" + hinted); s.location != "" {
			t.Errorf("%s: signed out already: %d %s", name, s.status, s.location)
		}
	}
	posted := f.newBrowser()
	s := posted.follow(posted.do(http.MethodPost, "/oauth/logout",
		url.Values{"post_logout_redirect_uri": {"https://planner.example/bye"}, "client_id": {c.ID}}))
	if s.location != "" || s.page() != "You are signed out" {
		t.Errorf("posted by another site: %d %s", s.status, s.text())
	}
}
