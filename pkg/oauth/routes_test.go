package oauth

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// The API's document has every endpoint except those that only the server's own
// pages use, and the authorization request by POST, which the one by GET describes.
func TestEndpointsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../docs/openapi.json")
	testkit.Must(t, err)
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	testkit.Must(t, json.Unmarshal(raw, &doc))
	own := []string{"/oauth/signin", "/oauth/consent", "/oauth/tenant", "/oauth/password", "/oauth/forgot",
		"/oauth/signup", "/oauth/join", "/oauth/terms", "POST /oauth/device", "POST /oauth/apps",
		"POST /oauth/authorize"}
	for _, r := range routes {
		_, ok := doc.Paths[r.path][strings.ToLower(r.method)]
		if want := !slices.Contains(own, r.path) && !slices.Contains(own, r.method+" "+r.path); ok != want {
			t.Errorf("%s %s: documented %v, want %v", r.method, r.path, ok, want)
		}
	}
}
