package agents

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"slices"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
)

// TestNpmClientWithKey: the client is known by its metadata document and
// authenticates by private_key_jwt (RFC 7523).
func TestNpmClientWithKey(t *testing.T) {
	testkit.Long(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testkit.Must(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	testkit.Must(t, err)
	point, err := key.PublicKey.Bytes()
	testkit.Must(t, err)
	text := base64.RawURLEncoding.EncodeToString
	s := apptest.With(t, apptest.Options{Documents: publish(t, map[string]any{
		"token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_signing_alg": "ES256",
		"jwks": map[string]any{"keys": []any{map[string]any{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig",
			"x": text(point[1:33]), "y": text(point[33:])}}}})})
	known := task{URL: s.URL + "/mcp/rider/metro", Redirect: "http://127.0.0.1:9/callback", Document: documentAt,
		Key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}
	rider := connect(t, s, []string{node(t), "client.mjs"}, known, s.Rider(t, "metro", "rita"))
	defer rider.stop()
	if tools := rider.tools(); rider.session.ClientID != documentAt || !slices.Contains(tools, "svc_request_ride") {
		t.Errorf("the client is %s, its tools %v", rider.session.ClientID, tools)
	}
	rider.ride(t, "Main St 1")
}
