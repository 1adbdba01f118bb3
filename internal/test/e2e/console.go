package e2e

import (
	"net/http"
	"strings"
	"testing"

	"svc/pkg/oauth/flow"
)

// console checks that an operator of the company gets the console's page, with a
// Content-Security-Policy that allows requests to the service.
func (s *suite) console(t *testing.T, company string) {
	t.Helper()
	if s.NoFiles { // sam local has no route of the console
		return
	}
	page := s.do(t, call{method: "GET", path: "/console/?tenant=" + company, cookie: s.operatorCookie(t)}).must(200)
	if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src 'self'") {
		t.Errorf("/console has the policy %q", policy)
	}
}

// operatorCookie signs an operator in, and returns the cookie by which the console's page
// knows the companies in which its operators signed in.
func (s *suite) operatorCookie(t *testing.T) (cookie string) {
	t.Helper()
	client := *s.http
	client.Transport = noting{s.http.Transport, &cookie}
	s.signIn(t, operator, func(o *flow.Options) { o.HTTPClient = &client })
	if cookie == "" {
		t.Error("a sign-in of an operator sets no cookie for the console")
	}
	return cookie
}

// noting is a transport that keeps the operator cookie that a response sets.
type noting struct {
	next   http.RoundTripper
	cookie *string
}

// RoundTrip implements http.RoundTripper.
func (n noting) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := n.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	for _, one := range res.Cookies() {
		if strings.HasSuffix(one.Name, "svc-operator") {
			*n.cookie = one.Name + "=" + one.Value
		}
	}
	return res, nil
}
