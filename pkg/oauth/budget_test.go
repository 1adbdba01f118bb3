package oauth_test

import (
	"net/http"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/table"
)

// metered counts what the requests of a browser cost.
type metered struct {
	next   http.RoundTripper
	reads  float64
	writes float64 // with those of the indexes
}

// RoundTrip implements http.RoundTripper.
func (m *metered) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, meter := table.Metered(r.Context())
	res, err := m.next.RoundTrip(r.WithContext(ctx))
	used := meter.Usage()
	m.reads, m.writes = m.reads+used.ReadUnits, m.writes+testkit.WriteUnits(used)+used.IndexUnits
	return res, err
}

// The pages of a sign-in, from the authorization request to the code.
func TestSignInBudget(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	known := f.newBrowser()
	known.obtainCode(authorization(c), "ana@metro.example")
	// Each page also reads whether company and platform trust the client.
	for _, tt := range []struct {
		name          string
		browser       *browser
		q             []string
		reads, writes float64
	}{
		// Three counters up and down, session, browser, the session's request, code;
		// the consent with its index entry.
		{"another browser", f.newBrowser(), []string{"prompt", "consent"}, 39, 2*(6+4) + 3},
		// One counter up and down, session and browser new and old, the session's
		// request, code, and the check of the consent.
		{"known browser", known, []string{"prompt", "login"}, 27, 2 * (2 + 4 + 1 + 2)},
		{"signed in", known, nil, 11, 2 * 2},
	} {
		m := &metered{next: f.client.Transport}
		tt.browser.client.Transport = m
		tt.browser.obtainCode(authorization(c, tt.q...), "ana@metro.example")
		t.Logf("%s: %.1f read and %.1f write units", tt.name, m.reads, m.writes)
		if m.reads > tt.reads || m.writes > tt.writes {
			t.Errorf("%s: %.1f read and %.1f write units, at most %v and %v wanted", tt.name, m.reads, m.writes, tt.reads,
				tt.writes)
		}
	}
}

// A code's exchange. The first one of a client also ends the expiry of the
// client's record and of the copies of its state.
func TestCodeBudget(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(map[string]any{"audiences": []string{"dashboard"}, "scope": "openid tenant.trips:read"})
	for _, tt := range []struct {
		name   string
		writes float64
	}{
		// code, family, token with its index entry, grant; the record with its index entry, the copies
		{"the client's first code", 2*4 + 1 + 2 + 1 + 2*authz.Copies},
		{"the person's next code", 2*3 + 1},
	} {
		code := f.code(a, authz.Dashboard, "openid tenant.trips:read")
		ctx, meter := table.Metered(t.Context())
		r := formRequest("/oauth/token", formOf("grant_type", "authorization_code", "client_id", a.id, "code", code,
			"redirect_uri", callback, "code_verifier", verifier))
		f.expect(f.do(r.WithContext(ctx)), http.StatusOK, "")
		used := meter.Usage()
		writes := testkit.WriteUnits(used) + used.IndexUnits
		t.Logf("%s: %.1f read and %.1f write units", tt.name, used.ReadUnits, writes)
		if used.ReadUnits > 6 || writes > tt.writes {
			t.Errorf("%s: %.1f read and %.1f write units, at most 6 and %v wanted", tt.name, used.ReadUnits, writes, tt.writes)
		}
	}
}
