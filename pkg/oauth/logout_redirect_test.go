package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Signing out leads to a client's address by itself only with an id_token_hint or
// after the person's confirmation.
func TestLogoutRedirects(t *testing.T) {
	f := newFixture(t)
	c := f.storeClient(nil)
	bye := url.Values{"post_logout_redirect_uri": {"https://planner.example/bye"}, "state": {"x"},
		"client_id": {c.ID}}.Encode()
	idToken := f.tokensBy(f.newBrowser(), c, "ana@metro.example").IDToken
	for name, test := range map[string]struct {
		query    string
		redirect bool
	}{"without a hint": {bye, false}, "with a hint": {bye + "&id_token_hint=" + idToken, true}} {
		s := f.newBrowser().get("/oauth/logout?" + test.query)
		if redirects := s.location == "https://planner.example/bye?state=x"; redirects != test.redirect {
			t.Errorf("%s, nobody signed in: %d %s", name, s.status, s.text())
		}
		if link := strings.Contains(s.body, `href="https://planner.example/bye?state=x"`); link == test.redirect {
			t.Errorf("%s: a link is %v", name, link)
		}
	}
	posted := f.newBrowser()
	s := posted.follow(posted.do(http.MethodPost, "/oauth/logout",
		url.Values{"post_logout_redirect_uri": {"https://planner.example/bye"}, "client_id": {c.ID}}))
	if s.location != "" || s.page() != "You are signed out" {
		t.Errorf("posted by another site: %d %s", s.status, s.text())
	}
}
