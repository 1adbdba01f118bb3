package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// machines makes a machine, which signs in by a secret that is replaced meanwhile, and
// takes its access away.
func (s *suite) machines(t *testing.T) {
	token, path := s.fresh(t), "/api/v1/machines"
	made := s.create(t, token, path, `{"name": "Nightly", "permissions": ["VIEW_EVENTS"]}`).must(http.StatusCreated)
	one := path + "/" + made.text("id")
	secret := func() (id, text string) {
		a := s.create(t, token, one+"/secrets", "").must(http.StatusCreated)
		return a.text("id"), a.text("secret")
	}
	sign := func(secret string) answer {
		return s.do(t, call{method: http.MethodPost, path: "/oauth/token", form: url.Values{"grant_type": {
			"client_credentials"}}, basic: url.UserPassword(made.text("clientId"), secret)})
	}
	id, first := secret()
	mine := sign(first).must(http.StatusOK).text("access_token")
	if me := s.get(t, mine, "/api/v1/me").must(http.StatusOK); me.text("actor") != "machine" {
		t.Errorf("who am I: %s", me.body)
	}
	s.get(t, mine, "/api/v1/events").must(http.StatusOK)
	s.get(t, mine, "/api/v1/drivers").refused(http.StatusForbidden, "insufficient_scope")
	_, second := secret()
	sign(first).must(http.StatusOK)
	sign(second).must(http.StatusOK)
	s.do(t, call{method: http.MethodDelete, path: one + "/secrets/" + id, token: token}).must(http.StatusOK)
	s.get(t, mine, "/api/v1/events").refused(http.StatusUnauthorized, "unauthorized")
	sign(first).must(http.StatusUnauthorized)
	mine = sign(second).must(http.StatusOK).text("access_token")
	s.get(t, token, path).some()
	if got := s.get(t, token, one).must(http.StatusOK); !strings.Contains(string(got.body), `"lastUsedAt":"20`) {
		t.Errorf("the last use is not shown: %s", got.body)
	}
	s.patch(t, token, one, `{"enabled": false}`).must(http.StatusOK)
	s.get(t, mine, "/api/v1/events").refused(http.StatusUnauthorized, "unauthorized")
	sign(second).must(http.StatusUnauthorized)
	s.do(t, call{method: http.MethodDelete, path: one, token: token}).must(http.StatusOK)
}
