package clients

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc/pkg/oauth/protocol"
)

// FuzzRedirectTarget: of the http and https addresses, only loopback addresses
// count as on the device.
func FuzzRedirectTarget(f *testing.F) {
	for _, seed := range []string{"https://planner.example:444/cb", "http://127.0.0.1:1/cb",
		"http://127.0.0.1.evil.example/", "http://localhost.evil.example/", "http://localhost:1/",
		"http://[::1]/", "com.example:/cb", "http://127.0.0.1@evil.example/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		host, local := RedirectTarget(uri)
		name, _, _ := strings.Cut(strings.TrimPrefix(host, "[::1]"), ":")
		if local && !strings.HasSuffix(host, ":") && name != "127.0.0.1" && name != "localhost" && name != "" {
			t.Errorf("%q is on the device at %q", uri, host)
		}
	})
}

func FuzzRegistration(f *testing.F) {
	f.Add([]byte(`{"client_name":"A","redirect_uris":["https://app.example/"],"audiences":["rider"],"scope":"openid"}`))
	f.Add([]byte(`{"redirect_uris":["com.example.app:/x","http://[::1]:9/"],"audiences":["driver"],"application_type":"native"}`))
	f.Add([]byte(`{"redirect_uris":["cursor://x/cb","javascript://x/cb"],"token_endpoint_auth_method":"none"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := parseMetadata(body)
		var c Client
		if err == nil {
			c, err = m.client()
		}
		if err != nil {
			var e *protocol.Error
			if !errors.As(err, &e) || e.Status != http.StatusBadRequest {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		if len(c.RedirectURIs) == 0 || len(c.Audiences) == 0 || len(c.Scopes) == 0 || c.Name == "" {
			t.Errorf("%q is read as %+v", body, c)
		}
		for _, uri := range c.RedirectURIs {
			if strings.ContainsAny(uri, "#* \r\n\t\\\"<>") {
				t.Errorf("%q may be redirected to", uri)
			}
			scheme, _, _ := strings.Cut(strings.ToLower(uri), ":")
			good := scheme == "https" || scheme == "http" && loopback.MatchString(uri)
			if !good && !ownScheme.MatchString(scheme) && (!c.Public() || !slices.Contains(knownApps, scheme)) {
				t.Errorf("%q may be redirected to: public %v", uri, c.Public())
			}
		}
	})
}
