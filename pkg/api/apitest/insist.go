package apitest

import (
	"net/http"
	"time"
)

// Insist is Do that sends the request again while the answer is 503, as a
// client does: how many of many at once outlast their attempts is a matter of
// the machine's speed.
func (s *Stand) Insist(method, path, token, body string, headers ...string) Answer {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if a := s.Do(method, path, token, body, headers...); a.Status != http.StatusServiceUnavailable || time.Now().After(deadline) {
			return a
		}
	}
}
