package app

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
	"svc/pkg/edge/gateway"
)

// TestRequestIDInLogs: the log line of a request has the same id as the
// gateway's access log, even if the caller chose another id.
func TestRequestIDInLogs(t *testing.T) {
	if !strings.Contains(string(svc.Template), "Format: req_$context.requestId ") {
		t.Error("the lines of the access log in template.yaml do not begin with the request's id")
	}
	var log bytes.Buffer
	functions := map[string]func() any{
		"an API function": func() any {
			f, err := API(func(*table.DB) []api.Row { return nil })(&Runtime{BaseURL: "https://svc.example", Now: time.Now,
				Logger: slog.New(slog.DiscardHandler), Observe: Requests(&log, "TestFunction")}, "TestFunction")
			testkit.Must(t, err)
			return f
		},
		"the authorization server": func() any {
			return gateway.Handler(measured(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Request-Id", gateway.RequestID(r, time.Now()))
			}), &log, "TestFunction"))
		},
	}
	for name, function := range functions {
		for own, want := range map[string][2]string{"": {"req_JKJaXm=", ""}, "mine-1": {"mine-1", "req_JKJaXm="}} {
			log.Reset()
			event, _ := json.Marshal(map[string]any{"version": "2.0", "rawPath": "/api/v1/nothing",
				"headers": map[string]string{"x-request-id": own}, "requestContext": map[string]any{
					"requestId": "JKJaXm=", "apiId": "abc123", "http": map[string]string{"method": "GET", "path": "/api/v1/nothing"}}})
			_, err := function().(gateway.Function)(context.Background(), event)
			testkit.Must(t, err)
			var line struct {
				ID      string `json:"request_id"`
				Gateway string `json:"gateway_id"`
			}
			testkit.Must(t, json.Unmarshal(log.Bytes(), &line))
			if line.ID != want[0] || line.Gateway != want[1] {
				t.Errorf("%s, own id %q: %s", name, own, log.String())
			}
		}
	}
}
