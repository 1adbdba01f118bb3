package page

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

var sources = regexp.MustCompile(`^([a-z][a-z0-9+.-]*:)(//[a-z0-9.-]+(:[0-9]{1,5})?)?$`)

// FuzzFormSource: an address becomes one source expression or none. It never
// allows scripts or adds a directive to the policy.
func FuzzFormSource(f *testing.F) {
	for _, seed := range []string{"https://planner.example/cb", "com.example.planner:/cb", "http://[::1]:80/",
		"javascript:alert(1)", "https://a.example; script-src *", "HTTPS://A.example"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		got := formSource(address)
		if got != "" && (!sources.MatchString(got) || strings.HasPrefix(got, "javascript:") ||
			strings.HasPrefix(got, "data:")) {
			t.Errorf("%q gives %q", address, got)
		}
	})
}

// FuzzTexts checks that text chosen by strangers stays text on a page, and
// stays on one line in a mail.
func FuzzTexts(f *testing.F) {
	f.Add(`<script>alert(1)</script>`, `" onload="x`)
	f.Add("a\r\nBcc: b@c.example", "javascript:alert(1)")
	f.Fuzz(func(t *testing.T, name, address string) {
		plain, marked := httptest.NewRecorder(), httptest.NewRecorder()
		for rec, with := range map[*httptest.ResponseRecorder][2]string{plain: {"x", ""}, marked: {name, address}} {
			err := Write(rec, 200, Frame{Brand: Brand{Name: with[0]}}, Consent{Client: with[0], Host: with[0], Account: with[0],
				Tenant: with[0], Policy: with[1], Terms: with[1]})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, part := range []string{"<script", "<form", "<input", "<button", "<style", "<meta", "<link"} {
			if a, b := strings.Count(plain.Body.String(), part), strings.Count(marked.Body.String(), part); a != b {
				t.Errorf("%q, %q: %d of %s, not %d", name, address, b, part, a)
			}
		}
		if strings.Contains(marked.Body.String(), `href="javascript:`) {
			t.Errorf("%q leads to a script", address)
		}
		subject, _, err := LinkMail(English, name, "https://svc.example/")
		if err != nil || strings.ContainsAny(subject, "\r\n") {
			t.Errorf("subject %q, %v", subject, err)
		}
	})
}
