package clients

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"svc/pkg/access/authz"
	"svc/pkg/oauth/protocol"
)

// TestAllFaults: a refusal of a registration names every fault, once.
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
			"response_types": ["token"], "logo_uri": "http://a.example", "scope": "openid tenant.trips:read tea",
			"id_token_signed_response_alg": "none", "contacts": ["a\u0007"]}`: {
			"invalid_client_metadata",
			"client_name must have 1 to 100 characters; token_endpoint_auth_method must be one of " +
				strings.Join(protocol.AuthMethods, ", ") + "; application_type must be web or native; " +
				"id_token_signed_response_alg must be RS256 or ES256; grant_types may contain authorization_code and " +
				"refresh_token only; grant_types must contain authorization_code; response_types may contain code only; " +
				"logo_uri must be an https address; scope contains tenant.trips:read, which the catalog does not have for " +
				"these audiences; scope contains tea, which the catalog does not have for these audiences; contacts, " +
				"software_id and software_version are plain texts of at most 100 characters."},
		`{"redirect_uris": [], "audiences": ["rider"], "client_name": ""}`: {"invalid_client_metadata",
			"client_name must have 1 to 100 characters; redirect_uris must contain 1 to 20 addresses."},
		`{"redirect_uris": ["https://a.example/"], "contacts": "me"}`: {"invalid_client_metadata",
			"contacts has the wrong type."},
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
