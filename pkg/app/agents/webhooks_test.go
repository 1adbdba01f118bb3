package agents

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
)

// hooked calls the tools of webhooks, with a receiver that echoes its challenge. No
// result has the secret.
func hooked(t *testing.T, s *apptest.Service, call func(tool, id string, arguments map[string]any) answer) {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Challenge string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		_, _ = fmt.Fprintf(w, `{"challenge": %q}`, body.Challenge)
	}))
	t.Cleanup(receiver.Close)
	made := call("svc_create_webhook", "", map[string]any{"url": receiver.URL})
	hook := idOf(t, made)
	rotated := call("svc_rotate_webhook_secret", hook, map[string]any{"overlapHours": 1})
	for _, got := range []answer{made, rotated} {
		if strings.Contains(string(got.StructuredContent), "whsec_") {
			t.Errorf("an agent gets the secret: %s", got.StructuredContent)
		}
	}
	s.Drain(t)
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if strings.Contains(string(call("svc_get_webhook", hook, nil).StructuredContent), `"status":"enabled"`) {
			break
		}
	}
	call("svc_test_webhook", hook, map[string]any{"type": "trip.settled"})
	call("svc_replay_webhook", hook, map[string]any{"after": "2026-01-01T00:00:00Z"})
	call("svc_list_webhook_deliveries", hook, nil)
	call("svc_update_webhook", hook, map[string]any{"description": "Tried"})
	call("svc_delete_webhook", hook, nil)
}
