package oauth_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/table"
)

// consentStored returns the key of Ana's consent to the client.
func (f *fixture) consentStored(c client) table.Key {
	return f.tenant.Key("CONSENT", c.ID, f.ana.ID, "CONSENT")
}

// A consent is for a client at one resource. A client that was allowed at the
// API needs a new consent for the MCP server, and the other way round.
func TestConsentNamesTheResource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	if s := b.obtainCode(authorization(c), "ana@metro.example"); s.page() != "code" {
		t.Fatalf("%s", s.page())
	}
	mcp := authorization(c, "resource", baseURL+"/mcp")
	if s := b.authorize(mcp); s.page() != "consent" || !strings.Contains(s.text(), "AI agent") {
		t.Errorf("a consent for the API counts for an agent: %s %s", s.page(), s.text())
	}
	// A consent of an earlier version names no resource.
	tx := f.tenant.Write()
	tx.Update(f.consentStored(c), table.Change{Remove: []string{"allowed"}})
	testkit.Must(t, tx.Commit(context.Background()))
	if s := b.authorize(authorization(c)); s.page() != "code" {
		t.Errorf("an older consent does not count for the API: %s", s.page())
	}
	if s := b.authorize(mcp); s.page() != "consent" {
		t.Errorf("an older consent counts for an agent: %s", s.page())
	}
	if s := b.obtainCode(mcp, "ana@metro.example"); s.page() != "code" {
		t.Fatalf("%s", s.page())
	}
	for name, q := range map[string][]string{"agent": {"resource", baseURL + "/mcp"}, "API": nil} {
		if s := b.authorize(authorization(c, q...)); s.page() != "code" {
			t.Errorf("%s, after both were allowed: %s", name, s.page())
		}
	}
	other := f.storeClient(nil)
	if s := b.obtainCode(authorization(other, "resource", baseURL+"/mcp"), "ana@metro.example"); s.page() != "code" {
		t.Fatalf("%s", s.page())
	}
	if s := b.authorize(authorization(other)); s.page() != "consent" || strings.Contains(s.text(), "AI agent") {
		t.Errorf("a consent for an agent counts for the API: %s %s", s.page(), s.text())
	}
}

// Consents at two resources do not combine: a scope is allowed only at the
// resources for which it was allowed.
func TestConsentPairsScopesWithResources(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	agent := []string{"resource", baseURL + "/mcp"}
	read := authorization(c, append(agent, "scope", "tenant.trips:read")...)
	write := authorization(c, "scope", "tenant.drivers:read")
	for _, q := range []url.Values{read, write} {
		if s := b.obtainCode(q, "ana@metro.example"); s.page() != "code" {
			t.Fatalf("%s %s", s.page(), s.text())
		}
	}
	for name, q := range map[string]url.Values{
		"agent": authorization(c, append(agent, "scope", "tenant.drivers:read")...),
		"API":   authorization(c, "scope", "tenant.trips:read"),
	} {
		if s := b.authorize(q); s.page() != "consent" {
			t.Errorf("%s: %s, want the page of consent", name, s.page())
		}
	}
	for name, q := range map[string]url.Values{"agent": read, "API": write} {
		if s := b.authorize(q); s.page() != "code" {
			t.Errorf("%s, as allowed: %s", name, s.page())
		}
	}
}

// The page says what the tenant lets agents do. If that setting has changed,
// the page's form is no consent.
func TestConsentSaysWhatAgentsMayDo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	mcp := authorization(c, "resource", baseURL+"/mcp")
	b.signIn(b.authorize(mcp), "ana@metro.example")
	for value, want := range map[string]string{"": "agreement each time", authz.AgentsConfirm: "agreement each time",
		authz.AgentsAll: "without asking again", authz.AgentsRead: "read only", authz.AgentsOff: "do nothing now"} {
		for n := range authz.Copies {
			f.set(authz.FlagsKey(f.tenant, n), map[string]any{authz.AgentActions: value})
		}
		if s := b.authorize(mcp); s.page() != "consent" || !strings.Contains(s.text(), want) {
			t.Errorf("%q: %s %s", value, s.page(), s.text())
		}
	}
	for n := range authz.Copies {
		f.set(authz.FlagsKey(f.tenant, n), map[string]any{authz.AgentActions: authz.AgentsRead})
	}
	read := b.authorize(mcp)
	for n := range authz.Copies {
		f.set(authz.FlagsKey(f.tenant, n), map[string]any{authz.AgentActions: authz.AgentsAll})
	}
	if s := b.follow(b.post(read, "decision", "allow")); s.page() != "consent" ||
		!strings.Contains(s.text(), "without asking") {
		t.Errorf("the setting changed under the page: %s", s.page())
	}
}

// A consent is to what the tenant let agents do then. If the tenant lets them
// do more, the person is asked again; if less, not.
func TestConsentNamesTheMode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	mcp := authorization(c, "resource", baseURL+"/mcp")
	set := func(mode string) {
		for n := range authz.Copies {
			f.set(authz.FlagsKey(f.tenant, n), map[string]any{authz.AgentActions: mode})
		}
	}
	next := func(mode, want string) {
		t.Helper()
		set(mode)
		if s := b.authorize(mcp); s.page() != want {
			t.Errorf("%q: %s, want %s", mode, s.page(), want)
		}
	}
	set(authz.AgentsRead)
	b.obtainCode(mcp, "ana@metro.example")
	next(authz.AgentsOff, "code")
	next(authz.AgentsRead, "code")
	next(authz.AgentsConfirm, "consent")
	next("", "consent")
	next(authz.AgentsAll, "consent")
	silent := authorization(c, "resource", baseURL+"/mcp", "prompt", "none")
	if s := b.authorize(silent); s.page() != "consent_required" {
		t.Errorf("without a page: %s", s.page())
	}
	if s := b.authorize(authorization(c)); s.page() != "consent" {
		t.Errorf("the API: %s", s.page())
	}
	b.obtainCode(authorization(c), "ana@metro.example") // a consent to the API changes nothing for agents
	next(authz.AgentsAll, "consent")
	b.obtainCode(mcp, "ana@metro.example")
	next(authz.AgentsAll, "code")
	next(authz.AgentsRead, "code")
	// A consent of an earlier version names no mode. It counts as a consent to confirm.
	tx := f.tenant.Write()
	tx.Update(f.consentStored(c), table.Change{Remove: []string{authz.AgentActions}})
	testkit.Must(t, tx.Commit(context.Background()))
	next(authz.AgentsConfirm, "code")
	next(authz.AgentsAll, "consent")
}
