package oauth

import "time"

// SetMailWait sets for how long the response to a request for a link waits, and
// what it waits by.
func (s *Server) SetMailWait(d time.Duration, after func(time.Duration) <-chan time.Time) {
	s.forgot.wait, s.forgot.after = d, after
}

var routes = (&Server{}).endpoints()
