package oauth

import "time"

// SetMailWait sets how long the response to a request for a link is delayed,
// and the function that waits.
func (s *Server) SetMailWait(d time.Duration, after func(time.Duration) <-chan time.Time) {
	s.forgot.wait, s.forgot.after = d, after
}

var routes = (&Server{}).endpoints()
