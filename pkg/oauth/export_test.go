package oauth

import "time"

// SetMailWait sets how long the server delays its response to a request for a
// link. after replaces time.After in this wait.
func (s *Server) SetMailWait(d time.Duration, after func(time.Duration) <-chan time.Time) {
	s.forgot.wait, s.forgot.after = d, after
	s.signUp.wait, s.signUp.after = d, after
}

var routes = (&Server{}).endpoints()
