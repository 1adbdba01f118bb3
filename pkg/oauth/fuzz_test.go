package oauth

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// FuzzLogout: a sign-out request without a hint redirects nowhere. It passes on
// only its own parameters, each once.
func FuzzLogout(f *testing.F) {
	f.Add("state=x&ui_locales=es")
	f.Add("state=a&state=b")
	f.Add("next=https://evil.example&csrf=x")
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, "/oauth/logout", http.NoBody)
		r.URL.RawQuery = query
		in := r.URL.Query()
		in.Del("id_token_hint")
		in.Del("post_logout_redirect_uri")
		q, err := (&logoutPage{}).open(r, in)
		if err != nil {
			return
		}
		if q.to != "" || q.actor != "" {
			t.Errorf("%q leads to %q for %q", query, q.to, q.actor)
		}
		for name, values := range q.params {
			if (name != "client_id" && name != "state" && name != "ui_locales") || len(values) != 1 ||
				values[0] != in.Get(name) {
				t.Errorf("%q carries %s=%q on", query, name, values)
			}
		}
	})
}
