package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/internal/test/testkit"
	"svc/pkg/base/config"
	"svc/pkg/edge/gateway"
)

const (
	oldSecret = "0123456789abcdef0123456789abcdef"
	newSecret = "fedcba9876543210fedcba9876543210"
)

// hashed returns the value of ORIGIN_SECRET_SHA256 for secrets.
func hashed(secrets ...string) string {
	var out []string
	for _, secret := range secrets {
		out = append(out, fmt.Sprintf("%x", sha256.Sum256([]byte(secret))))
	}
	return strings.Join(out, ",")
}

// invoked sends an event of the gateway to a function as Start wires it, and
// returns the status and the body of the response.
func invoked(t *testing.T, serve Serve, method, path string, headers map[string]string) (int, string) {
	t.Helper()
	function, err := serve(&Runtime{BaseURL: "https://svc.example", Now: time.Now, Config: config.Read(os.Getenv),
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, "TestFunction")
	testkit.Must(t, err)
	event := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: path, Headers: headers}
	event.RequestContext.HTTP.Method, event.RequestContext.HTTP.Path = method, path
	event.RequestContext.HTTP.SourceIP, event.RequestContext.APIID = "192.0.2.1", "abc123"
	raw, err := json.Marshal(event)
	testkit.Must(t, err)
	answered, err := function.(gateway.Function)(context.Background(), raw)
	testkit.Must(t, err)
	var response events.APIGatewayV2HTTPResponse
	testkit.Must(t, json.Unmarshal(answered, &response))
	return response.StatusCode, response.Body
}

// TestOriginSecret: with ORIGIN_SECRET_SHA256, every request without one of the
// secrets is rejected. Without the variable every request is served.
func TestOriginSecret(t *testing.T) {
	for _, tt := range []struct {
		hashes, given string
		want          int
	}{
		{"", "", 200},
		{"", "whatever", 200},
		{hashed(newSecret), newSecret, 200},
		{hashed(oldSecret, newSecret), oldSecret, 200},
		{hashed(oldSecret, newSecret), newSecret, 200},
		{hashed(newSecret), "", 403},
		{hashed(newSecret), oldSecret, 403},
		{hashed(newSecret), newSecret[1:], 403},
		{hashed(newSecret), hashed(newSecret), 403},
		{hashed(newSecret), newSecret + "," + newSecret, 403},
	} {
		t.Setenv("ORIGIN_SECRET_SHA256", tt.hashes)
		status, body := invoked(t, Documents, http.MethodGet, "/health", map[string]string{"x-origin-secret": tt.given})
		if status != tt.want {
			t.Errorf("hashes %q, given %q: %d, want %d: %s", tt.hashes, tt.given, status, tt.want, body)
		}
		if status == 403 && !strings.HasPrefix(body, `{"error":"forbidden",`) {
			t.Errorf("the refusal is %s", body)
		}
	}
	for _, text := range []string{newSecret, hashed(newSecret)[1:], "x" + hashed(newSecret)[1:]} {
		t.Setenv("ORIGIN_SECRET_SHA256", text)
		_, err := Documents(&Runtime{Config: config.Read(os.Getenv)}, Docs)
		if err == nil || strings.Contains(err.Error(), text) {
			t.Errorf("%q, which is no hash: %v", text, err)
		}
	}
}

// TestViewerAddress: behind CloudFront the caller's address is what CloudFront
// reports. A caller who reaches the gateway itself cannot choose it.
func TestViewerAddress(t *testing.T) {
	seen := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, viewerIP(r.Context()), len(r.Header))
	})
	for _, tt := range []struct{ hashes, header, want string }{
		{hashed(newSecret), "198.51.100.7:46532", "198.51.100.70"},
		{hashed(newSecret), "2001:db8::7:46532", "2001:db8::70"},
		{hashed(newSecret), "[2001:db8::7]:46532", "2001:db8::70"},
		{hashed(newSecret), "nobody", "0"}, // what the gateway saw, here nothing
		{"", "198.51.100.7:46532", "2"},
	} {
		t.Setenv("ORIGIN_SECRET_SHA256", tt.hashes)
		f := newFront(config.Read(os.Getenv))
		r, w := httptest.NewRequest(http.MethodGet, "/health", nil), httptest.NewRecorder()
		r.Header.Set("X-Origin-Secret", newSecret)
		r.Header.Set("CloudFront-Viewer-Address", tt.header)
		if f.before(seen, nil).ServeHTTP(w, r); w.Body.String() != tt.want {
			t.Errorf("hashes %q, header %q: %q, want %q", tt.hashes, tt.header, w.Body, tt.want)
		}
	}
}

// TestRoutesAreSwitchedOff: an operation whose id is in SWITCHED_OFF returns
// 503. Other operations work.
func TestRoutesAreSwitchedOff(t *testing.T) {
	me := API(MeRows)
	t.Setenv("SWITCHED_OFF", "svc_request_ride, svc_accept_trip,svc_list_addresses")
	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{http.MethodPost, "/api/v1/me/trips", 503},
		{http.MethodPost, "/api/v1/me/trips/trip_1/accept", 503},
		{http.MethodHead, "/api/v1/me/addresses", 503},
		{http.MethodGet, "/api/v1/me/trips", 401},
		{http.MethodPost, "/api/v1/me/trips/trip_1/complete", 401},
		{http.MethodPost, "/api/v1/me/addresses", 401},
	} {
		if got, body := invoked(t, me, tt.method, tt.path, nil); got != tt.want {
			t.Errorf("%s %s: %d, want %d: %s", tt.method, tt.path, got, tt.want, body)
		}
	}
}

// TestUnknownSwitchesAreLogged: every operation id and word is known, and a
// misspelt one is an error in the log that names it.
func TestUnknownSwitchesAreLogged(t *testing.T) {
	good := []string{offRegistration, offSignIn, offAgents}
	for _, r := range Rows(nil) {
		good = append(good, r.ID)
	}
	if n := len(strings.Fields(operations)) + 3; n != len(good) {
		t.Errorf("%d switches are known, want %d", n, len(good))
	}
	var log bytes.Buffer
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	for _, tt := range []struct{ off, unknown string }{
		{"", ""},
		{strings.Join(good, ","), ""},
		{"registration,svc_request_rides,signin", `["svc_request_rides","signin"]`},
		{"request_ride", `["request_ride"]`},
	} {
		log.Reset()
		t.Setenv("SWITCHED_OFF", tt.off)
		newFront(config.Read(os.Getenv))
		logged := strings.Contains(log.String(), `"level":"ERROR"`) && strings.Contains(log.String(), tt.unknown)
		if logged != (tt.unknown != "") {
			t.Errorf("SWITCHED_OFF=%q logs %q", tt.off, log.String())
		}
	}
}

// TestOAuthIsSwitchedOff: registration, sign-in and agents' clients each have a
// switch, which rejects only these requests.
func TestOAuthIsSwitchedOff(t *testing.T) {
	const agent = "client_id=https%3A%2F%2Fagent.example%2Fclient"
	reached := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method == http.MethodPost && string(body) != r.Header.Get("Sent") {
			t.Errorf("the handler reads %q of %s: %v", body, r.URL.Path, err)
		}
	})
	for _, tt := range []struct {
		method, target, body string
		off                  []string // the switches that reject it
	}{
		{http.MethodPost, "/oauth/register", "{}", []string{offRegistration}},
		{http.MethodGet, "/oauth/register/cli_1", "", nil},
		{http.MethodGet, "/oauth/authorize?client_id=cli_1", "", []string{offSignIn}},
		{http.MethodGet, "/oauth/authorize?" + agent, "", []string{offSignIn, offAgents}},
		{http.MethodPost, "/oauth/authorize", agent, []string{offSignIn, offAgents}},
		{http.MethodPost, "/oauth/signin", "email=a", []string{offSignIn}},
		{http.MethodPost, "/oauth/forgot", "email=a", []string{offSignIn}},
		{http.MethodPost, "/oauth/signup", "email=a", []string{offSignIn}},
		{http.MethodPost, "/oauth/terms", "agree=a", []string{offSignIn}},
		{http.MethodPost, "/oauth/device", "user_code=a", []string{offSignIn}},
		{http.MethodPost, "/oauth/device_authorization", "client_id=svc", []string{offSignIn}},
		{http.MethodPost, "/oauth/device_authorization", agent, []string{offSignIn, offAgents}},
		{http.MethodPost, "/oauth/token", "grant_type=refresh_token&" + agent, []string{offAgents}},
		{http.MethodPost, "/oauth/token", "grant_type=refresh_token&client_id=cli_1", nil},
		{http.MethodPost, "/oauth/token", asserted("https://agent.example/client"), []string{offAgents}},
		{http.MethodPost, "/oauth/token", asserted("cli_1"), nil},
		{http.MethodPost, "/oauth/token", "grant_type=refresh_token&client_assertion=a.b.c", nil},
		{http.MethodPost, "/oauth/revoke", agent, nil},
		{http.MethodGet, "/.well-known/openid-configuration", "", nil},
		{http.MethodPost, "/mcp", "{}", []string{offAgents}},
		{http.MethodPost, "/mcp/rider/metro", "{}", []string{offAgents}},
		{http.MethodGet, "/mcpx", "", nil},
	} {
		for _, off := range []string{"", offRegistration, offSignIn, offAgents} {
			t.Setenv("SWITCHED_OFF", off)
			f := newFront(config.Read(os.Getenv))
			r, w := httptest.NewRequest(tt.method, tt.target, strings.NewReader(tt.body)), httptest.NewRecorder()
			r.Header.Set("Sent", tt.body)
			f.before(reached, nil).ServeHTTP(w, r)
			want := http.StatusOK
			for _, one := range tt.off {
				if one == off {
					want = http.StatusServiceUnavailable
				}
			}
			if w.Code != want {
				t.Errorf("%s %s with %q off: %d, want %d", tt.method, tt.target, off, w.Code, want)
			}
		}
	}
}

// asserted returns a refresh whose client is named only by its assertion (RFC
// 7521 section 4.2).
func asserted(client string) string {
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"` + client + `","sub":"` + client + `"}`))
	return "grant_type=refresh_token&client_assertion=e30." + claims + ".c2ln"
}
