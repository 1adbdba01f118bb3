package oauth

import (
	"testing"

	"svc/pkg/oauth/clients"
)

// Any port of a loopback address is accepted. Only the port of this service is
// the port of its page.
func TestReferencePageOnALaptop(t *testing.T) {
	t.Parallel()
	const base = "http://127.0.0.1:8080"
	for uri, want := range map[string]bool{
		base + "/docs": true, "http://127.0.0.1:9090/docs": false, "http://127.0.0.1/docs": false,
		"http://127.0.0.1:80800/docs": false, "http://localhost:8080/docs": false, "https://127.0.0.1:8080/docs": false,
	} {
		a := &authorization{client: clients.Client{RedirectURIs: []string{base + "/docs"}}}
		a.RedirectURI = uri
		if a.recognizePage(base); (a.ofPage == referenceName) != want {
			t.Errorf("%s asked for: %v", uri, a.ofPage)
		}
		a.client.RedirectURIs, a.RedirectURI, a.ofPage = []string{uri}, base+"/docs", ""
		if a.recognizePage(base); (a.ofPage == referenceName) != want {
			t.Errorf("%s registered: %v", uri, a.ofPage)
		}
	}
}
