package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"svc/internal/test/testkit"
)

// members invites an operator, takes the invitation back, and changes an operator.
func (s *suite) members(t *testing.T) {
	token, path := s.fresh(t), "/api/v1/members"
	made := s.create(t, token, path, `{"email": "new-operator@metro.example", "role": "viewer"}`).must(http.StatusCreated)
	if made.text("status") != "INVITED" || made.text("link") != "" {
		t.Errorf("invited: %s", made.body)
	}
	one := path + "/" + made.text("id")
	s.get(t, token, one).must(http.StatusOK)
	s.get(t, token, path).some()
	s.get(t, token, "/api/v1/roles").some()
	s.patch(t, token, one, `{"disabled": true}`).refused(http.StatusConflict, "invalid_state")
	s.do(t, call{method: http.MethodDelete, path: one, token: token}).must(http.StatusOK)
	s.get(t, token, one).must(http.StatusNotFound)
	me := path + "/" + s.get(t, token, "/api/v1/me").must(http.StatusOK).text("id")
	var had struct {
		Role        string
		Permissions json.RawMessage
	}
	testkit.Must(t, json.Unmarshal(s.get(t, token, me).must(http.StatusOK).body, &had))
	for _, role := range []string{"viewer", had.Role} { // the name alone
		s.patch(t, token, me, fmt.Sprintf(`{"role": %q, "permissions": %s}`, role, had.Permissions)).must(http.StatusOK)
	}
}
