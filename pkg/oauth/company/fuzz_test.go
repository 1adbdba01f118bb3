package company

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// FuzzOwnQuery: the links of the server's own pages contain only known
// parameters and never lead to another host.
func FuzzOwnQuery(f *testing.F) {
	f.Add("audience=rider&tenant_hint=metro&next=https://evil.example")
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, "/oauth/apps", http.NoBody)
		r.URL.RawQuery = query
		link, err := url.Parse(AppsLink(r))
		if err != nil || link.Host != "" || link.Scheme != "" || link.Path != "apps" {
			t.Fatalf("%q leads to %v", query, link)
		}
		for name := range link.Query() {
			if name != "audience" && name != "tenant_hint" && name != "ui_locales" {
				t.Errorf("%q carries %s on", query, name)
			}
		}
	})
}
