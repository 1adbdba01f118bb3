package oauth

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// bare is a server without a table, for what reads a request alone.
func bare(base string) *Server { return &Server{config: Config{BaseURL: base}} }

// FuzzCookie: a cookie is a secret of ours or nothing, and of two none.
func FuzzCookie(f *testing.F) {
	f.Add("__Host-svc-session=" + strings.Repeat("a", 43))
	f.Add("__Host-svc-session=a; __Host-svc-session=b")
	f.Add(`__Host-svc-session="` + strings.Repeat("a", 43) + `"; svc-session=x`)
	f.Fuzz(func(t *testing.T, header string) {
		r := &http.Request{Header: http.Header{"Cookie": {header}}}
		got := bare("https://svc.example").cookie(r.WithContext(context.Background()), sessionCookie)
		if got != "" && (len(got) != 43 || !s256.MatchString(got) || strings.Count(header, got) == 0) {
			t.Errorf("%q gives %q", header, got)
		}
	})
}

// FuzzFormToken: a token is good for its secret, purpose and what it is bound
// to, and for nothing else.
func FuzzFormToken(f *testing.F) {
	f.Add("secret", "consent", "a\nb", "x")
	f.Add("", "", "", "")
	f.Fuzz(func(t *testing.T, secret, purpose, bound, token string) {
		mine := formToken(secret, purpose, bound)
		if formGood(secret, purpose, bound, mine) != (secret != "") {
			t.Errorf("%q %q %q: its own token", secret, purpose, bound)
		}
		if token != mine && formGood(secret, purpose, bound, token) {
			t.Errorf("%q %q %q: %q is good", secret, purpose, bound, token)
		}
		if secret != "" && !strings.Contains(purpose, "\x00") && formGood(secret, purpose+"x", bound, mine) {
			t.Errorf("%q %q %q: good for another purpose", secret, purpose, bound)
		}
	})
}

// FuzzForm: no parameter comes twice but resource, none is empty, and what the
// client says of itself is one thing.
func FuzzForm(f *testing.F) {
	f.Add("grant_type=refresh_token&client_id=a&client_secret=b", "")
	f.Add("resource=a&resource=b&x=&%zz", "Basic YTpi")
	f.Add("client_id=a", "Basic YTpi")
	f.Fuzz(func(t *testing.T, body, authorization string) {
		r := httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		form, err := parseForm(r)
		if err != nil {
			return
		}
		for name, values := range form {
			if name != "resource" && (len(values) != 1 || values[0] == "") {
				t.Errorf("%q: %s is %q", body, name, values)
			}
		}
		by, err := credentialsOf(r, form)
		if err != nil {
			return
		}
		if (by.method == authBasic) != (authorization != "") || (by.method == authNone && by.secret != "") || (by.method != authBasic && by.id == "") {
			t.Errorf("%q with %q: %+v", body, authorization, by)
		}
	})
}

// FuzzOwnQuery: what the server's own pages carry on in addresses is
// what is known, and leads nowhere else.
func FuzzOwnQuery(f *testing.F) {
	f.Add("audience=rider&tenant_hint=metro&next=https://evil.example")
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, "/oauth/apps", http.NoBody)
		r.URL.RawQuery = query
		link, err := url.Parse(ownLink(r))
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

// FuzzPrintable: an error description stays within its characters.
func FuzzPrintable(f *testing.F) {
	f.Add("a\"\\é\x00")
	f.Fuzz(func(t *testing.T, text string) {
		got := printable(text)
		if len(got) > 103 || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
			t.Errorf("%q gives %q", text, got)
		}
	})
}
