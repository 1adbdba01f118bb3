package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/pkg/authz"
	"svc/pkg/oauth/flow"
)

// Target is a deployment with the demo data.
type Target struct {
	// BaseURL is its address, and the issuer of its tokens, without a slash
	// at the end.
	BaseURL string
	// Patience is how long the stream functions may take; 0 is 30 seconds.
	Patience time.Duration
	// Timeout is how long one answer may take; 0 is a minute.
	Timeout time.Duration
	// Transport sends the requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
}

// password is that of everybody in the demo.
const password = "demo-password"

// suite is one run.
type suite struct {
	Target
	http   *http.Client
	tokens map[string]flow.Tokens
}

// Run runs the suite as subtests of t.
func Run(t *testing.T, target Target) {
	target.BaseURL = strings.TrimSuffix(target.BaseURL, "/")
	if target.Patience == 0 {
		target.Patience = 30 * time.Second
	}
	if target.Timeout == 0 {
		target.Timeout = time.Minute
	}
	s := &suite{Target: target, tokens: map[string]flow.Tokens{}, http: &http.Client{Timeout: target.Timeout, Transport: target.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	for _, part := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"documents", s.documents},
		{"discovery", s.discovery},
		{"registration", s.registration},
		{"tokens", s.lives},
		{"introspection", s.introspection},
		{"operator", s.operator},
		{"branding", s.branding},
		{"feedback", s.feedback},
		{"rider", s.rider},
		{"driver", s.driver},
		{"ride", s.ride},
		{"cancelled ride", s.cancelled},
		{"tenants apart", s.apart},
		{"faults", s.faults},
	} {
		if !t.Run(part.name, part.run) && part.name == "documents" {
			return // nothing answers
		}
	}
}

// The people of the demo that the suite is.
var (
	operator = person{"metro", authz.Dashboard, "operator@metro.example"}
	rider    = person{"metro", authz.Rider, "rider1@metro.example"}
	driver   = person{"metro", authz.Driver, "driver1@metro.example"}
	stranger = person{"harbor", authz.Dashboard, "operator@harbor.example"}
	guest    = person{"harbor", authz.Rider, "rider1@harbor.example"}
	pilot    = person{"harbor", authz.Driver, "driver1@harbor.example"}
)

type person struct {
	tenant   string
	audience authz.Audience
	email    string
}

// token gives the person's access token, signed in at the first call.
func (s *suite) token(t *testing.T, p person) string {
	t.Helper()
	if tokens, ok := s.tokens[p.email]; ok {
		return tokens.AccessToken
	}
	tokens := s.signIn(t, p)
	s.tokens[p.email] = tokens
	return tokens.AccessToken
}

func (s *suite) signIn(t *testing.T, p person, change ...func(*flow.Options)) flow.Tokens {
	t.Helper()
	o := s.options(p)
	for _, c := range change {
		c(&o)
	}
	tokens, err := flow.Token(context.Background(), o)
	if err != nil {
		t.Fatalf("signing in as %s of %s: %v", p.audience, p.tenant, err)
	}
	return tokens
}

func (s *suite) options(p person) flow.Options {
	return flow.Options{BaseURL: s.BaseURL, Tenant: p.tenant, Audience: string(p.audience), Email: p.email, Password: password, HTTPClient: s.http}
}

// eventually tries until done or out of patience.
func (s *suite) eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(s.Patience); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, s.Patience)
		}
	}
}
