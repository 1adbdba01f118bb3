package apitest

import (
	"net/http"
	"time"

	"svc/internal/test/testkit"
)

// Insist is Do that repeats the request while the status is 503, as a client
// does, for up to ten minutes. With many concurrent requests, a server on a
// slow machine returns 503 more often.
func (s *Stand) Insist(method, path, token, body string, headers ...string) Answer {
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(10 * time.Millisecond) {
		a := s.Do(method, path, token, body, headers...)
		if a.Status != http.StatusServiceUnavailable || time.Now().After(deadline) {
			return a
		}
	}
}
