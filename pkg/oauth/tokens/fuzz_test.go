package tokens

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzUserToken: a token is read unchanged from one place, and a request has at
// most one.
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

func FuzzRefreshToken(f *testing.F) {
	f.Add("x.y.z")
	f.Add("dGVuXzAxSlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaLnJpZGVyLmN1c18wMS5mYW1fMDE." + strings.Repeat("a", 43) + "." +
		strings.Repeat("b", 43))
	f.Fuzz(func(t *testing.T, token string) {
		a, secret, err := parseRefresh(token)
		if err != nil {
			return
		}
		again := a.token(secret)
		if first := again[:len(again)-secretSize]; !strings.HasPrefix(token, first) {
			t.Errorf("%q is read as %q: a token has more than one form", token, first)
		}
	})
}
