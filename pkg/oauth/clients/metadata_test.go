package clients

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"svc/pkg/access/authz"
	"svc/pkg/oauth/protocol"
)

// TestAllFaults: a rejected registration names every member without a usable
// value, and every fault of its addresses and scopes.
func TestAllFaults(t *testing.T) {
	var redirects []string
	for i := range mostRedirects {
		redirects = append(redirects, fmt.Sprintf(`"ftp://app%d.example"`, i))
	}
	for body, want := range map[string]struct{ code, description string }{
		`{"redirect_uris": ["https://a.example/#x", "https://b.example/*"], "audiences": ["rider"]}`: {
			"invalid_redirect_uri",
			"https://a.example/#x: a fragment is not allowed; https://b.example/*: a wildcard is not allowed."},
		`{"redirect_uris": ["com.example.app:/cb"], "audiences": ["rider"], "application_type": "mobile",
			"client_name": " ", "token_endpoint_auth_method": "magic", "grant_types": ["implicit"],
			"response_types": ["token"], "logo_uri": "http://a.example", "scope": "tenant.trips:read tea",
			"id_token_signed_response_alg": "none", "contacts": ["a\u0007"]}`: {
			"invalid_client_metadata",
			"client_name must have 1 to 100 characters; token_endpoint_auth_method must be one of " +
				strings.Join(protocol.AuthMethods, ", ") + "; grant_types must contain authorization_code; " +
				"response_types must contain code; scope contains tenant.trips:read, which the catalog does not have for " +
				"these audiences; scope contains tea, which the catalog does not have for these audiences."},
		`{"redirect_uris": [], "audiences": ["rider"], "client_name": ""}`: {"invalid_client_metadata",
			"client_name must have 1 to 100 characters; redirect_uris must contain at least one address."},
		`{"redirect_uris": ["https://a.example/"], "grant_types": "authorization_code"}`: {"invalid_client_metadata",
			"grant_types has the wrong type."},
	} {
		m, err := parseMetadata([]byte(body))
		if err == nil {
			_, err = m.client()
		}
		var got *protocol.Error
		if !errors.As(err, &got) || got.Code != want.code || got.Description != want.description {
			t.Errorf("%s\n got %v\nwant %s", body, err, want.description)
		}
	}
	many := strings.Repeat("x ", 20000)
	c := Client{Audiences: []authz.Audience{authz.Rider}}
	if err := c.setScopes(metadata{Scope: &many}); err == nil || len(c.Scopes) > 0 {
		t.Errorf("unknown scopes: %v, %d are kept to compare others with", err, len(c.Scopes))
	}
	m, err := parseMetadata([]byte(`{"redirect_uris": [` + strings.Join(redirects, ",") + `], "client_name": ""}`))
	if err == nil {
		_, err = m.client()
	}
	if n := strings.Count(fmt.Sprint(err), "; ") + 1; n != mostFaults {
		t.Errorf("%d faults are named, want %d: %v", n, mostFaults, err)
	}
}
