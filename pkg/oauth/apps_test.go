package oauth_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/domain/person"
)

// inOrder reports whether a page contains the texts in this order.
func inOrder(page string, texts ...string) bool {
	for _, text := range texts {
		_, after, found := strings.Cut(page, text)
		if !found {
			return false
		}
		page = after
	}
	return true
}

// A scope that no operation needs is granted, but shown separately from what an
// application can do.
func TestScopesThatNothingOffers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := person.Store{DB: f.db}.Grant(context.Background(), f.tenant, f.by(), f.ana.ID, "VIEW_APP_BUILDER")
	testkit.Must(t, err)
	c, b := f.storeClient(nil), f.newBrowser()
	q := authorization(c, "scope", "tenant.builds:read openid tenant.trips:read")
	s := b.signIn(b.authorize(q), "ana@metro.example")
	if !inOrder(s.text(), "It will be able to:", "know who you are", "see all trips", "Not possible here yet",
		"see builds") {
		t.Errorf("%d %s", s.status, s.text())
	}
	spanish := b.do(http.MethodGet, "/oauth/authorize?"+q.Encode(), nil, "Accept-Language", "es")
	if !inOrder(spanish.body, "Podrá:", "saber quién eres", "todavía no es posible", "ver las compilaciones") {
		t.Errorf("in Spanish: %s", spanish.text())
	}
	code := f.storedCode(b.consent(s).answer.Get("code"))
	if got := strings.Join(code.Scopes, " "); got != q.Get("scope") {
		t.Errorf("granted: %s", got)
	}
	if apps := b.get("/oauth/apps"); !inOrder(apps.text(), "see all trips", "see builds", "not possible here yet") {
		t.Errorf("connected applications: %s", apps.text())
	}
	only := b.authorize(authorization(c, "scope", "tenant.builds:read", "prompt", "consent"))
	if strings.Contains(only.text(), "able to") || !inOrder(only.text(), "Not possible here yet", "see builds") {
		t.Errorf("that scope alone: %s", only.text())
	}
	none := b.authorize(authorization(c, "prompt", "consent"))
	if none.page() != "consent" || strings.Contains(none.text(), "Not possible here yet") {
		t.Errorf("without such a scope: %s", none.text())
	}
}

var section = regexp.MustCompile(`(?s)<section.*?</section>`)

// A client that was allowed in two companies is one entry, and its access to
// each can be ended separately. Another client with the same name is another
// entry. The client that was allowed last comes first.
func TestOneEntryForAClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, namesake, b := f.storeClient(nil), f.storeClient(nil), f.newBrowser()
	f.advance(12*time.Hour - 2*time.Minute) // two minutes before midnight
	inMetro := f.tokensBy(b, c, "ana@metro.example")
	f.advance(time.Minute)
	f.tokensBy(b, namesake, "ana@metro.example")
	f.advance(2 * time.Minute)
	inNova := f.tokensBy(b, c, "ana@metro.example", "tenant_hint", "nova")
	s := b.get("/oauth/apps")
	entries := section.FindAllString(s.body, -1)
	if len(entries) != 2 || !inOrder(entries[0], c.Name, "Nova", "2026-03-02", f.nova.ID, "Metro Cabs", "2026-03-01",
		f.metro.ID) || !inOrder(entries[1], c.Name, "Metro Cabs", "2026-03-01", namesake.ID) {
		t.Fatalf("%d entries: %s", len(entries), s.text())
	}
	if n := strings.Count(entries[0], "<h2") + strings.Count(entries[1], c.ID); n != 1 {
		t.Errorf("the client is not one entry: %s", s.body)
	}
	_, csrf := s.form(t)
	s = b.follow(b.do(http.MethodPost, "/oauth/apps", url.Values{"csrf": {csrf}, "client": {c.ID}, "of": {f.nova.ID}}))
	if strings.Contains(s.body, f.nova.ID) || !inOrder(s.body, namesake.ID, "2026-03-01", c.ID, f.metro.ID) {
		t.Errorf("after the end in Nova: %s", s.text())
	}
	for token, want := range map[string]int{inNova.AccessToken: 401, inMetro.AccessToken: 200} {
		if s, _ := f.userinfo(token); s.status != want {
			t.Errorf("a token: %d, want %d", s.status, want)
		}
	}
	f.advance(time.Minute)
	if got := b.consent(b.authorize(authorization(c, "prompt", "consent"))).page(); got != "code" {
		t.Fatalf("allowed again: %s", got)
	}
	if s := b.get("/oauth/apps"); !inOrder(s.body, "2026-03-02", c.ID, "2026-03-01", namesake.ID) {
		t.Errorf("after it was allowed again: %s", s.text())
	}
}
