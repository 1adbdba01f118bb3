package app

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/base/config"
	"svc/pkg/edge/gateway"
	"svc/pkg/edge/gateway/emulator"
)

func documents(t *testing.T) gateway.Function {
	t.Helper()
	f, err := Documents(&Runtime{BaseURL: "https://svc.example", Now: time.Now, Config: config.Read(os.Getenv),
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, Docs)
	testkit.Must(t, err)
	return f.(gateway.Function)
}

// TestSmokePassesTheFront: behind CloudFront the calls of a smoke test need no
// origin secret. The same event with apiId, as a gateway sends it, is rejected.
func TestSmokePassesTheFront(t *testing.T) {
	t.Setenv("ORIGIN_SECRET_SHA256", hashed(newSecret))
	f := documents(t)
	ask := func(p probe, event []byte) error {
		answer, err := f(t.Context(), event)
		testkit.Must(t, err)
		return p.checkResponse(answer, "https://svc.example", false)
	}
	for _, p := range probes(Docs) {
		event := p.event("https://svc.example")
		if err := ask(p, event); err != nil {
			t.Errorf("%s: %v", p.path, err)
		}
		sent := strings.Replace(string(event), `"apiId":""`, `"apiId":"abc123"`, 1)
		if err := ask(p, []byte(sent)); err == nil || !strings.Contains(err.Error(), "status 403") {
			t.Errorf("%s through a gateway, without the secret: %v", p.path, err)
		}
	}
}

// TestNoRequestIsDirect: no request that a client sends through the gateway
// counts as direct, so the function rejects it without the secret.
func TestNoRequestIsDirect(t *testing.T) {
	t.Setenv("ORIGIN_SECRET_SHA256", hashed(newSecret))
	f, seen := documents(t), 0
	functions := map[string]emulator.Function{}
	for _, name := range RequestFunctions() {
		functions[name] = func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
			seen++
			var e struct{ RequestContext struct{ APIID string } }
			if err := json.Unmarshal(event, &e); err != nil || e.RequestContext.APIID == "" {
				t.Errorf("%v: no apiId in %s", err, event)
			}
			return f(ctx, event)
		}
	}
	g, err := emulator.New(svc.Template, functions)
	testkit.Must(t, err)
	forged := string(probe{method: http.MethodGet, path: "/health"}.event("https://svc.example"))
	requests := 0
	for _, target := range []string{"/", "/health", "/nothing", "/oauth/token", "/api/v1/trips",
		"/?requestContext=%7B%7D&requestContext.apiId=&apiId=&version=2.0", "/%22,%22requestContext%22:%7B%7D"} {
		for _, body := range []string{"", "null", "{}", forged, `{"requestContext":{"apiId":""}}`,
			`"},"requestContext":{"apiId":"","http":{"method":"GET"}},"x":{"y":"`} {
			for _, header := range [][2]string{{"apiId", ""}, {"requestContext", `{"apiId":""}`}, {"X-Apigateway-Event", forged},
				{"X-Amzn-Apigateway-Api-Id", ""}, {"X-Amz-Invocation-Type", "RequestResponse"}, {"Host", "smoke.invalid"},
				{"User-Agent", "svc-smoke"}, {"Content-Type", "application/json"}, {"X-Origin-Secret", ""}} {
				r := httptest.NewRequest(http.MethodGet, target, strings.NewReader(body))
				r.Header.Set(header[0], header[1])
				w := httptest.NewRecorder()
				if g.ServeHTTP(w, r); w.Code != http.StatusForbidden {
					t.Errorf("%s %q %q: %d %s", target, header, body, w.Code, w.Body)
				}
				requests++
			}
		}
	}
	if seen != requests {
		t.Errorf("%d of %d requests reached a function", seen, requests)
	}
}
