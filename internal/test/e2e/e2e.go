package e2e

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/oauth/flow"
)

// Target is a deployment with the demo data.
type Target struct {
	// BaseURL is its address and the issuer of its tokens, without a trailing
	// slash.
	BaseURL string
	// Patience is how long to wait for the stream functions; 0 means five
	// minutes.
	Patience time.Duration
	// Timeout is the limit for one request with its repetitions (retrying); 0
	// means ten minutes.
	Timeout time.Duration
	// NoFiles says that no schedule makes the files of exports there: sam local has
	// no schedules.
	NoFiles bool
	// FewTools says that only rides are repeated as tool calls: sam local and svc dev make all
	// of them.
	FewTools bool
	// Receiver is the address at which the suite listens for what the deployment sends
	// to ReceiverURL; "" means that nothing does.
	Receiver string
	// DB is the deployment's table, for what is due after hours; nil leaves that out.
	DB *table.DB
	// Transport sends the requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
}

// password is the password of everybody in the demo.
const password = "demo-password"

// suite is one run.
type suite struct {
	Target
	http        *http.Client
	tokens      map[string]flow.Tokens
	tools       []operation           // set while calls are made as tool calls
	agentTokens map[string]agentToken // by the API token of the same person
	succeeded   map[string]bool       // "GET /api/v1/trips": requests under /api/v1 that returned 2xx, by method and path
}

// Run runs the suite as subtests of t.
func Run(t *testing.T, target Target) {
	target.BaseURL = strings.TrimSuffix(target.BaseURL, "/")
	target.Patience, target.Timeout = cmp.Or(target.Patience, 5*time.Minute), cmp.Or(target.Timeout, 10*time.Minute)
	s := &suite{Target: target, tokens: map[string]flow.Tokens{}, succeeded: map[string]bool{},
		http: &http.Client{Timeout: target.Timeout,
			Transport:     retrying{cmp.Or(target.Transport, http.DefaultTransport)},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	for _, part := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"documents", s.documents},
		{"discovery", s.discovery},
		{"registration", s.registration},
		{"tokens", s.lives},
		{"devices", s.devices},
		{"introspection", s.introspection},
		{"operator", s.operator},
		{"branding", s.branding},
		{"settings", s.settings},
		{"people", s.people},
		{"businesses", s.businesses},
		{"feedback", s.feedback},
		{"rider", s.rider},
		{"driver", s.driver},
		{"estimate", s.estimated},
		{"dispatch", s.dispatch},
		{"no-show", s.missed},
		{"money", s.money},
		{"webhooks", s.webhooks},
		{"machines", s.machines},
		{"members", s.members},
		{"sandbox", s.sandbox},
		{"withdrawals", s.withdrawn},
		{"ride", s.ride},
		{"export", s.exported},
		{"import", s.imported},
		{"privacy", s.privacy},
		{"cancelled ride", s.cancelled},
		{"operated rides", s.operated},
		{"tenants apart", s.apart},
		{"faults", s.faults},
		{"every operation", s.everyOperation},
		{"agents", s.agents},
	} {
		if !t.Run(part.name, part.run) && part.name == "documents" {
			return // no server responds
		}
	}
}

// retrying repeats a request while the response is a 503 with Retry-After, at
// most 60 times. After outcome_unknown it repeats only a request with an
// Idempotency-Key. On a slow machine the service sends such responses more often.
type retrying struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r retrying) RoundTrip(req *http.Request) (*http.Response, error) {
	for n := 0; ; n++ {
		res, err := r.next.RoundTrip(req)
		if err != nil || res.StatusCode != http.StatusServiceUnavailable || n == 60 {
			return res, err
		}
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		body, unreadable := io.ReadAll(res.Body)
		_ = res.Body.Close()
		res.Body = io.NopCloser(bytes.NewReader(body))
		unknown := bytes.Contains(body, []byte("outcome_unknown")) && req.Header.Get("Idempotency-Key") == ""
		if err != nil || unreadable != nil || unknown {
			return res, unreadable
		}
		if req.GetBody != nil {
			req = req.Clone(req.Context())
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
}

// The people of the demo that the suite uses.
var (
	operator = person{"metro", authz.Dashboard, "operator@metro.example"}
	rider    = person{"metro", authz.Rider, "rider1@metro.example"}
	driver   = person{"metro", authz.Driver, "driver1@metro.example"}
	stranger = person{"harbor", authz.Dashboard, "operator@harbor.example"}
	guest    = person{"harbor", authz.Rider, "rider1@harbor.example"}
	pilot    = person{"harbor", authz.Driver, "driver1@harbor.example"}
	player   = person{"sandbox", authz.Dashboard, "operator@sandbox.example"}
)

// people are those of metro.
var people = map[authz.Audience]person{authz.Dashboard: operator, authz.Rider: rider, authz.Driver: driver}

type person struct {
	tenant   string
	audience authz.Audience
	email    string
}

// token returns the person's access token. The first call signs the person in.
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
	return flow.Options{BaseURL: s.BaseURL, Tenant: p.tenant, Audience: string(p.audience), Email: p.email,
		Password: password, HTTPClient: s.http}
}

// eventually waits until the condition holds. It ends the test if that takes
// longer than Patience.
func (s *suite) eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(s.Patience); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, s.Patience)
		}
	}
}
