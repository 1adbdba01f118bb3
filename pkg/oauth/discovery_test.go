package oauth_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// RFC 8414 section 2, OpenID Connect Discovery section 3, RFC 9728 section 2,
// RFC 7517 section 5.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	read := func(path string) map[string]any {
		t.Helper()
		s := f.newBrowser().get(path)
		var out map[string]any
		if err := json.Unmarshal([]byte(s.body), &out); s.status != http.StatusOK || err != nil {
			t.Fatalf("%s: %d %v", path, s.status, err)
		}
		if !strings.HasPrefix(s.header.Get("Cache-Control"), "public, max-age=") ||
			s.header.Get("Access-Control-Allow-Origin") != "*" ||
			s.header.Get("Content-Type") != "application/json" || s.header.Get("Pragma") != "" {
			t.Errorf("%s: headers %v", path, s.header)
		}
		return out
	}
	doc := read("/.well-known/openid-configuration")
	if other := read("/.well-known/oauth-authorization-server"); len(other) != len(doc) {
		t.Error("the two documents differ")
	}
	if doc["issuer"] != baseURL {
		t.Errorf("issuer %v", doc["issuer"])
	}
	for name, value := range doc {
		address, _ := value.(string)
		if (strings.HasSuffix(name, "_endpoint") || name == "jwks_uri") && f.do(httptest.NewRequest(http.MethodOptions,
			address, nil)).status != http.StatusMethodNotAllowed {
			t.Errorf("%s is %q, which no route answers", name, address)
		}
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource",
		"/.well-known/oauth-protected-resource/api/v1"} {
		if resource := read(path); resource["resource"] != baseURL+"/api/v1" ||
			resource["authorization_servers"].([]any)[0] != baseURL {
			t.Errorf("%s: %v", path, resource)
		}
	}
	var kinds []string
	for _, key := range read("/.well-known/jwks.json")["keys"].([]any) {
		k := key.(map[string]any)
		if k["d"] != nil || k["p"] != nil {
			t.Fatal("a private key is published")
		}
		kinds = append(kinds, k["kty"].(string))
	}
	if !slices.Contains(kinds, "RSA") || !slices.Contains(kinds, "EC") {
		t.Errorf("kinds of key: %v", kinds)
	}
}
