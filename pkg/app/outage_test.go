package app_test

import (
	"testing"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
)

// TestKeysOutOfReach: while the signing keys cannot be read, tokens cannot be
// verified, and no response claims that a token is invalid.
func TestKeysOutOfReach(t *testing.T) {
	t.Parallel() // it waits for time limits
	s := newSuite(t)
	token := s.Token(t, s.actors[authz.Rider])
	s.Get(t, token, "/api/v1/me").Must(t, 200)
	s.Clock.Advance(signing.Reread + time.Second)
	s.Wire.Break()
	if a := s.Get(t, token, "/api/v1/me"); a.Status != 503 || a.Code() != "temporarily_unavailable" ||
		a.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("%d %s %v", a.Status, a.Body, a.Header)
	}
	s.Wire.Restore()
	s.Get(t, token, "/api/v1/me").Must(t, 200)
}
