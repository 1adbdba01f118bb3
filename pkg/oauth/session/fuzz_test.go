package session

import (
	"net/http"
	"strings"
	"testing"
)

// FuzzCookie: an accepted cookie has the form of our secrets; of two cookies
// none is accepted.
func FuzzCookie(f *testing.F) {
	f.Add("__Host-svc-session=" + strings.Repeat("a", 43))
	f.Add("__Host-svc-session=a; __Host-svc-session=b")
	f.Add(`__Host-svc-session="` + strings.Repeat("a", 43) + `"; svc-session=x`)
	f.Fuzz(func(t *testing.T, header string) {
		r := &http.Request{Header: http.Header{"Cookie": {header}}}
		got := Cookies{Secure: true}.get(r, sessionCookie)
		if got != "" && (len(got) != 43 || !secretFormat.MatchString(got) || strings.Count(header, got) == 0) {
			t.Errorf("%q gives %q", header, got)
		}
	})
}

// FuzzFormToken: a token is valid only for its secret, its purpose and what it
// is bound to.
func FuzzFormToken(f *testing.F) {
	f.Add("secret", "consent", "a\nb", "x")
	f.Add("", "", "", "")
	f.Fuzz(func(t *testing.T, secret, purpose, bound, token string) {
		mine := formToken(secret, purpose, bound)
		if formValid(secret, purpose, bound, mine) != (secret != "") {
			t.Errorf("%q %q %q: its own token", secret, purpose, bound)
		}
		if token != mine && formValid(secret, purpose, bound, token) {
			t.Errorf("%q %q %q: %q is good", secret, purpose, bound, token)
		}
		if secret != "" && !strings.Contains(purpose, "\x00") && formValid(secret, purpose+"x", bound, mine) {
			t.Errorf("%q %q %q: good for another purpose", secret, purpose, bound)
		}
	})
}
