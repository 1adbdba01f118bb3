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
