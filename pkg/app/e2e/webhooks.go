package e2e

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// webhooks adds an endpoint, rotates its secret, sends to it and removes it. A
// service on this machine sends to a receiver of the suite. Any other service
// accepts public addresses only, and nobody answers at that of the suite.
func (s *suite) webhooks(t *testing.T) {
	token := s.token(t, operator)
	path := "/api/v1/webhooks"
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Challenge string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		_, _ = fmt.Fprintf(w, `{"challenge": %q}`, body.Challenge)
	}))
	defer receiver.Close()
	create := func(url string) answer {
		return s.do(t, call{method: "POST", path: path, token: token,
			body: fmt.Sprintf(`{"url": %q}`, url), key: rand.Text()})
	}
	made := create(receiver.URL)
	local := made.status == http.StatusCreated
	if !local {
		made = create("https://hooks.metro.example/events")
	}
	if made.must(http.StatusCreated); s.tools == nil && made.text("secret") == "" {
		t.Error("the secret is not shown")
	}
	one := path + "/" + made.text("id")
	s.get(t, token, path).some()
	s.get(t, token, one).must(200)
	s.do(t, call{method: "PATCH", path: one, token: token, body: `{"description": "Tried"}`}).must(200)
	s.post(t, token, one+"/rotate", "").must(200)
	if local {
		s.eventually(t, "the challenge", func() bool { return s.get(t, token, one).text("status") == "enabled" })
		s.post(t, token, one+"/test", `{"type": "trip.settled"}`).must(200)
		s.do(t, call{method: "PATCH", path: "/api/v1/branding", token: token,
			body: fmt.Sprintf(`{"appName": "Metro %s"}`, rand.Text()[:5])}).must(200)
		var sent []map[string]any
		s.eventually(t, "two deliveries", func() bool {
			sent = s.get(t, token, one+"/deliveries?status=succeeded").items()
			return len(sent) > 1
		})
		s.post(t, token, one+"/replay", fmt.Sprintf(`{"event": %q}`, sent[0]["eventId"])).must(200)
	} else {
		s.get(t, token, one+"/deliveries").items()
		s.post(t, token, one+"/test", "").refused(409, "invalid_state")
		s.post(t, token, one+"/replay", `{"after": "2026-01-01T00:00:00Z"}`).refused(409, "invalid_state")
		s.succeeded["POST "+one+"/test"], s.succeeded["POST "+one+"/replay"] = true, true
	}
	s.do(t, call{method: "DELETE", path: one, token: token}).must(200)
}
