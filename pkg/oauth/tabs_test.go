package oauth_test

import (
	"fmt"
	"net/url"
	"sync"
	"testing"
)

// Two tabs of one browser pick different tenants at the same time. Each request
// continues with its own tenant, and the response to one does not change the
// other.
func TestTwoTabsKeepTheirOwnTenant(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, b := f.storeClient(nil), f.newBrowser()
	b.signIn(b.authorize(authorization(c)), "ana@metro.example")
	tenants := map[string]string{"metro": f.metro.ID, "nova": f.nova.ID}
	for round := range 10 {
		queries := map[string]url.Values{}
		var both sync.WaitGroup
		for slug := range tenants {
			q := authorization(c, "tenant_hint", "", "state", fmt.Sprint(slug, round))
			queries[slug] = q
			page := b.authorize(q)
			if page.page() != "picker" {
				t.Fatalf("%s: %s", slug, page.text())
			}
			both.Go(func() { b.post(page, "tenant", slug) })
		}
		both.Wait()
		for slug, id := range tenants {
			got := b.authorize(queries[slug])
			if got.page() == "consent" {
				got = b.consent(got)
			}
			if got.page() != "code" || got.answer.Get("state") != fmt.Sprint(slug, round) {
				t.Fatalf("round %d, the tab of %s: %s", round, slug, got.text())
			}
			if code := f.storedCode(got.answer.Get("code")); code.Tenant != id {
				t.Errorf("round %d: the code of %s is one of tenant %s", round, slug, code.Tenant)
			}
		}
	}
}
