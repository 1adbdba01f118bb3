package oauth

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzUserToken: a token is taken from one place, as it stands there, and there
// is one at most.
func FuzzUserToken(f *testing.F) {
	f.Add("Bearer a.b.c", "")
	f.Add("bearer  x", "access_token=y")
	f.Add("", "access_token=y&access_token=z&%zz")
	f.Fuzz(func(t *testing.T, header, body string) {
		r := httptest.NewRequest(http.MethodPost, "/oauth/userinfo", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		token, err := userToken(r)
		if err != nil {
			return
		}
		byHeader, inBody := strings.Contains(header, token), strings.Contains(body, "access_token")
		if token == "" || (!byHeader && !inBody) {
			t.Errorf("%q with %q gives %q", header, body, token)
		}
	})
}

// FuzzLogout: a request to sign out that names nobody leads nowhere, and carries
// nothing on but its own parameters, each once.
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
		q, err := bare("https://svc.example").openLogout(r, in)
		if err != nil {
			return
		}
		if q.to != "" || q.actor != "" {
			t.Errorf("%q leads to %q for %q", query, q.to, q.actor)
		}
		for name, values := range q.params {
			if (name != "client_id" && name != "state" && name != "ui_locales") || len(values) != 1 || values[0] != in.Get(name) {
				t.Errorf("%q carries %s=%q on", query, name, values)
			}
		}
	})
}

// FuzzHostAt: of the addresses of the web a loopback one alone is on the device.
func FuzzHostAt(f *testing.F) {
	for _, seed := range []string{"https://planner.example:444/cb", "http://127.0.0.1:1/cb", "http://127.0.0.1.evil.example/", "http://[::1]/", "com.example:/cb", "http://127.0.0.1@evil.example/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		host, local := hostAt(uri)
		if local && !strings.HasSuffix(host, ":") && host != "127.0.0.1" && host != "[::1]" && !strings.HasPrefix(host, "127.0.0.1:") && !strings.HasPrefix(host, "[::1]:") {
			t.Errorf("%q is on the device at %q", uri, host)
		}
	})
}
