package branding_test

import (
	"testing"

	"svc/pkg/domain/branding"
)

// A URL of the branding contains nothing that could end the HTML attribute or
// the CSS in which a page uses it.
func TestCheckURL(t *testing.T) {
	for _, good := range []string{"https://cdn.example/a%20b.svg?x=1&y='(2)'#z",
		"https://hilfe.müller.example/~a;b,c@d:e!$*+[x]"} {
		if message := branding.CheckURL(good); message != "" {
			t.Errorf("%s: %s", good, message)
		}
	}
	for _, c := range `"<>\^{|}` + "`\u0085\u00a0\u2028" {
		for _, bad := range []string{"https://cdn.example/a" + string(c), "https://cdn.example/?a=" + string(c) + "b",
			"https://cdn.example/#" + string(c)} {
			if branding.CheckURL(bad) == "" {
				t.Errorf("%q is accepted", bad)
			}
		}
	}
}

// A URL beyond ASCII is answered as a URI (RFC 3986).
func TestURI(t *testing.T) {
	for text, want := range map[string]string{
		"https://cdn.metro.example/a%20b?c=d#e": "https://cdn.metro.example/a%20b?c=d#e",
		"https://münchen.example:8443/ä?q=ü":    "https://xn--mnchen-3ya.example:8443/%C3%A4?q=%C3%BC",
		"https://例え.example/logo.svg":           "https://xn--r8jz45g.example/logo.svg",
		"mailto:hilfe@münchen.example":          "mailto:hilfe@m%C3%BCnchen.example",
		"data:image/png;base64,AA==":            "data:image/png;base64,AA==",
	} {
		if got := branding.URI(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
