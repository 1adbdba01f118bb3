package app_test

import (
	"testing"
	"time"

	"svc/pkg/authz"
	"svc/pkg/signing"
)

// TestKeysOutOfReach: while the signing keys cannot be read nothing is known of
// a token, and nobody is told that theirs is not good.
func TestKeysOutOfReach(t *testing.T) {
	s := newSuite(t)
	token := s.Token(t, s.actors[authz.Rider])
	s.Get(t, token, "/api/v1/me").Must(t, 200)
	s.Clock.Advance(signing.Reread + time.Second)
	s.Wire.Break()
	if a := s.Get(t, token, "/api/v1/me"); a.Status != 503 || a.Word() != "temporarily_unavailable" || a.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("%d %s %v", a.Status, a.Body, a.Header)
	}
	s.Wire.Mend()
	s.Get(t, token, "/api/v1/me").Must(t, 200)
}
