package oauth_test

import (
	"strings"
	"testing"
)

// The consent page names the scheme of an application on the device, not the
// host in its address, which means nothing.
func TestConsentNamesThePrivateScheme(t *testing.T) {
	f := newFixture(t)
	c := f.storeClient(func(c *client) {
		c.ApplicationType, c.RedirectURIs = "native", []string{"com.evil.app://metro.example/cb"}
	})
	b := f.newBrowser()
	s := b.signIn(b.authorize(authorization(c)), "ana@metro.example")
	if s.page() != "consent" || strings.Contains(s.text(), "metro.example/") ||
		strings.Contains(s.text(), "at metro.example") ||
		!strings.Contains(s.text(), "on this device") || !strings.Contains(s.body, "com.evil.app:") {
		t.Errorf("%s", s.text())
	}
}
