package protocol

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"svc/pkg/access/signing"
)

// FuzzForm: only resource occurs twice, no parameter is empty, and the request
// uses one authentication method.
func FuzzForm(f *testing.F) {
	f.Add("grant_type=refresh_token&client_id=a&client_secret=b", "")
	f.Add("resource=a&resource=b&x=&%zz", "Basic YTpi")
	f.Add("client_id=a", "Basic YTpi")
	f.Add("client_assertion=a&client_assertion_type="+url.QueryEscape(assertionType), "")
	f.Fuzz(func(t *testing.T, body, authorization string) {
		r := httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		form, err := ParseForm(r)
		if err != nil {
			return
		}
		for name, values := range form {
			if name != "resource" && (len(values) != 1 || values[0] == "") {
				t.Errorf("%q: %s is %q", body, name, values)
			}
		}
		by, err := ParseCredentials(r, form, func(raw string) (signing.Assertion, error) {
			return signing.Assertion{Client: raw}, nil
		})
		if err != nil {
			return
		}
		if (by.Method == AuthBasic) != (authorization != "") || (by.Method == AuthNone && by.Secret != "") ||
			(by.Method != AuthBasic && by.ClientID == "") {
			t.Errorf("%q with %q: %+v", body, authorization, by)
		}
	})
}

// FuzzPrintable: an error description contains only permitted characters.
func FuzzPrintable(f *testing.F) {
	f.Add("a\"\\é\x00")
	f.Fuzz(func(t *testing.T, text string) {
		got := Printable(text)
		if len(got) > 103 || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool {
			return r < ' ' ||
				r > '~' || r == '"' || r == '\\'
		}) {
			t.Errorf("%q gives %q", text, got)
		}
	})
}

func FuzzBasic(f *testing.F) {
	f.Add("Basic Y2xpXzE6c2VjcmV0")
	f.Add("basic   %3A:%")
	f.Fuzz(func(_ *testing.T, header string) { _, _, _ = ParseBasic(header) })
}
