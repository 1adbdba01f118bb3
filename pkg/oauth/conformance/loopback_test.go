package conformance

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/oauth/flow"
)

// Applications for desktops and command lines sign in as AppAuth and Claude Code
// do: they register an address without the port, or with another one, and listen
// on a free port.
func TestLoopbackClients(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rita := s.Rider(t, "metro", "rita")
	provider, err := oidc.NewProvider(t.Context(), s.URL)
	testkit.Must(t, err)
	for _, registered := range []string{"http://localhost/callback", "http://localhost:8080/callback",
		"http://127.0.0.1/callback", "http://127.0.0.1:33418/callback"} {
		t.Run(registered, func(t *testing.T) {
			received := make(chan url.Values, 1)
			app := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				received <- r.URL.Query()
			}))
			t.Cleanup(app.Close)
			_, port, err := net.SplitHostPort(app.Listener.Addr().String())
			testkit.Must(t, err)
			at, err := url.Parse(registered)
			testkit.Must(t, err)
			at.Host = net.JoinHostPort(at.Hostname(), port)
			client, err := flow.Register(t.Context(), flow.Options{BaseURL: s.URL, Audience: "rider", RedirectURI: registered})
			testkit.Must(t, err)
			config := oauth2.Config{ClientID: client.ID, Endpoint: provider.Endpoint(), RedirectURL: at.String(),
				Scopes: []string{oidc.ScopeOpenID, oidc.ScopeOfflineAccess, "rider.profile:read"}}
			verifier := oauth2.GenerateVerifier()
			address, err := url.Parse(config.AuthCodeURL("state-1", oauth2.S256ChallengeOption(verifier),
				oauth2.SetAuthURLParam("tenant_hint", rita.Tenant)))
			testkit.Must(t, err)
			person := flow.NewBrowser(flow.Options{BaseURL: s.URL, Tenant: rita.Tenant, Email: rita.Email,
				Password: apptest.Password})
			answer, err := person.Authorize(t.Context(), address.Query())
			testkit.Must(t, err)
			res, err := http.Get(at.String() + "?" + answer.Encode())
			testkit.Must(t, err)
			_ = res.Body.Close()
			sent := <-received
			if sent.Get("state") != "state-1" || sent.Get("iss") != s.URL {
				t.Fatalf("the answer is %v", sent)
			}
			token, err := config.Exchange(t.Context(), sent.Get("code"), oauth2.VerifierOption(verifier))
			testkit.Must(t, err)
			if got := s.Get(t, token.AccessToken, "/api/v1/me"); got.Status != http.StatusOK ||
				!strings.Contains(string(got.Body), rita.Email) {
				t.Errorf("/api/v1/me: %d %s", got.Status, got.Body)
			}
		})
	}
}
