package e2e

import (
	"testing"
)

// sandbox checks that robots (simulated riders and drivers) complete rides in the
// sandbox, and that other companies have no robots. A deployment without a schedule
// (NoFiles) does not move the robots.
func (s *suite) sandbox(t *testing.T) {
	const path, body = "/api/v1/sandbox/advance", `{"seconds": 900}`
	token := s.token(t, player)
	advance := func() {
		s.create(t, token, path, body).must(200)
	}
	s.post(t, s.token(t, operator), path, body).refused(409, "invalid_state")
	if advance(); s.NoFiles {
		return
	}
	s.eventually(t, "a ride that a robot has completed", func() bool {
		advance()
		return len(s.get(t, token, "/api/v1/trips?status=COMPLETED").items()) > 0
	})
	for _, one := range s.get(t, token, "/api/v1/events?limit=5").items() {
		if one["livemode"] != false {
			t.Errorf("an event of the sandbox: %v", one)
		}
	}
}
