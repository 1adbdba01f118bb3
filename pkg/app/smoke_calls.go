package app

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// probe is one call of a smoke test. A probe only reads, and needs no credentials.
type probe struct {
	method, path, body string
	off                string // the word of SWITCHED_OFF that turns the response into a 503
	signed             bool   // the call sends unknownToken
	want               int
	holds              string // what the response's body must contain; {base} is the service's address
}

// probes returns the calls that try a function. A function rejects a token of
// an unknown key only after it has read the keys from the table. So the 401
// proves that the function has its configuration and reaches the table.
func probes(function string) []probe {
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	get := func(path string, want int, holds string) probe {
		return probe{method: http.MethodGet, path: path, want: want, holds: holds}
	}
	switch function {
	case OAuth:
		authorize := get("/oauth/authorize", http.StatusBadRequest, "<title>")
		authorize.off = offSignIn
		return []probe{get("/health/ready", http.StatusOK, `"status":"ok"`), authorize,
			get("/.well-known/oauth-authorization-server", http.StatusOK, `"issuer":"{base}"`),
			get("/.well-known/jwks.json", http.StatusOK, `"kid":"`)}
	case Docs:
		return []probe{get("/health", http.StatusOK, `"status":"ok"`), get("/docs", http.StatusOK, "<title>"),
			get("/openapi.json", http.StatusOK, `"openapi": "3.`),
			get("/nothing", http.StatusNotFound, `"error":"not_found"`)}
	case MCP:
		anonymous := probe{method: http.MethodPost, path: "/mcp", body: initialize, off: offAgents,
			want: http.StatusUnauthorized, holds: `"unauthorized"`}
		signed := anonymous
		signed.signed = true
		return []probe{anonymous, signed}
	}
	rows := StreamRows
	if function != Events {
		rows = rowsOf()[function]
	}
	var out []probe
	for _, r := range rows(nil) {
		if r.Method == http.MethodGet && !strings.Contains(r.Path, "{") {
			out = append(out, probe{method: r.Method, path: r.Path, off: r.ID, signed: true,
				want: http.StatusUnauthorized, holds: `"unauthorized"`})
		}
	}
	return out
}

// event returns the call as an HTTP API would send it to the function, but
// without apiId. gateway.Direct recognizes the event by the missing apiId.
func (p probe) event(base string) []byte {
	e := events.APIGatewayV2HTTPRequest{Version: "2.0", RouteKey: "$default", RawPath: p.path, Body: p.body,
		Headers: map[string]string{"content-type": "application/json"}}
	if p.signed {
		e.Headers["authorization"] = "Bearer " + unknownToken()
	}
	e.RequestContext.Stage = "$default"
	if u, err := url.Parse(base); err == nil {
		e.RequestContext.DomainName, e.Headers["host"] = u.Hostname(), u.Host
	}
	e.RequestContext.HTTP = events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: p.method, Path: p.path,
		Protocol: "HTTP/1.1", SourceIP: "192.0.2.1", UserAgent: "svc-smoke"} // an address for documentation, RFC 5737
	text, _ := json.Marshal(e) // a struct of texts always has a JSON form
	return text
}

// unknownToken returns a token in the form of an access token. No key has the
// token's kid.
func unknownToken() string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"ES256","typ":"at+jwt","kid":"smoke"}`)) + "." + encode([]byte(`{}`)) + "." +
		encode(make([]byte, 64))
}

// checkResponse returns an error if the response is not the expected one. base is the
// service's address. off says that the endpoint is switched off, so a 503 is expected.
func (p probe) checkResponse(answer []byte, base string, off bool) error {
	var a events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(answer, &a); err != nil || a.StatusCode == 0 {
		return fmt.Errorf("not an HTTP response: %.300s", answer)
	}
	if a.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(a.Body)
		if err != nil {
			return fmt.Errorf("the body is not base64: %w", err)
		}
		a.Body = string(body)
	}
	want, holds := p.want, strings.ReplaceAll(p.holds, "{base}", base)
	if off {
		want, holds = http.StatusServiceUnavailable, `"temporarily_unavailable"`
	}
	if a.StatusCode != want {
		return fmt.Errorf("status %d, want %d: %.300s", a.StatusCode, want, a.Body)
	}
	if !strings.Contains(a.Body, holds) {
		return fmt.Errorf("the body does not contain %s: %.300s", holds, a.Body)
	}
	const challenge = "Www-Authenticate"
	metadata := `resource_metadata="` + base + "/"
	if want == http.StatusUnauthorized && !strings.Contains(a.Headers[challenge], metadata) {
		return fmt.Errorf("%s is %q and does not contain %s", challenge, a.Headers[challenge], metadata)
	}
	return nil
}
