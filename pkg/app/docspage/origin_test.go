package docspage

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
)

// otherOrigin is a page of another origin. ask sends a request with the headers
// and returns the status, the readable headers and the body, or the error of
// fetch, which the browser raises if it blocks the request or the response.
const otherOrigin = `<!doctype html><title>app</title><script>
async function ask(address, options) {
	try {
		const r = await fetch(address, options);
		return [r.status, r.headers.get("X-Request-Id") ? "id" : "", r.headers.get("WWW-Authenticate") || "",
			await r.text()].join(" ");
	} catch (e) { return "blocked: " + e; }
}</script>`

// TestOtherOrigin: an application of another origin may send any header, also
// those that its tracing, its HTTP library or an MCP client adds by itself. It
// can read the response and its errors.
func TestOtherOrigin(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rita := s.Rider(t, "metro", "rita")
	token, agent := s.Token(t, rita), s.SignInFor(t, rita, "/mcp/rider/metro").AccessToken
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(otherOrigin)) // the browser may have gone
	}))
	t.Cleanup(app.Close)
	ctx := browser(t)
	run(t, ctx, chromedp.Navigate(app.URL))
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	for name, c := range map[string]struct{ path, options, want string }{
		"plain": {"/api/v1/me", `{headers: {Authorization: "Bearer ` + token + `"}}`, `200 id  {"actor":"rider"`},
		"tracing": {"/api/v1/me", `{headers: {Authorization: "Bearer ` + token + `", traceparent: "00-0-0-00",
			"sentry-trace": "1", baggage: "a=1", "x-datadog-trace-id": "1", b3: "0", "X-Amzn-Trace-Id": "Root=1"}}`, "200 id "},
		"library": {"/api/v1/me/addresses", `{method: "POST", body: '{"address":"Home","lat":1,"lng":2}',
			headers: {Authorization: "Bearer ` + token + `", "Content-Type": "application/json", "Idempotency-Key": "1",
			"X-Requested-With": "XMLHttpRequest", "Cache-Control": "no-cache", Pragma: "no-cache"}}`, "201 id "},
		"MCP client": {"/mcp/rider/metro", `{method: "POST", body: '` + initialize + `',
			headers: {Authorization: "Bearer ` + agent + `", "Content-Type": "application/json",
			"mcp-protocol-version": "2025-06-18", "mcp-session-id": "1", "last-event-id": "1"}}`, `200 id  {"jsonrpc"`},
		"MCP client without a token": {"/mcp/rider/metro", `{method: "POST", body: '{}', headers: {"mcp-session-id": "1",
			"Content-Type": "application/json"}}`, "401 id Bearer resource_metadata="},
		"no token": {"/api/v1/me", `{headers: {"X-Client-Version": "1"}}`, "401 id Bearer resource_metadata="},
		"token endpoint": {"/oauth/token", `{method: "POST", body: new URLSearchParams({grant_type: "x"}),
			headers: {"x-client-SKU": "msal.js.browser", "x-client-VER": "4"}}`, `400 id  {"error":"invalid_request"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := chromedp.Run(ctx, chromedp.Evaluate[string](`ask("`+s.URL+c.path+`", `+c.options+`)`,
				chromedp.EvalAwaitPromise))
			testkit.Must(t, err)
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
