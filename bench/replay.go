package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	"svc/internal/test/testkit"
)

// recorder is an HTTP server that takes the place of the database engine. At first it
// forwards requests to the engine and keeps the responses. Later it replays these
// responses.
type recorder struct {
	testkit.Tape
	server *httptest.Server
}

// newRecorder starts a recorder that forwards requests to the engine at the URL.
func newRecorder(engine string) (*recorder, error) {
	to, err := url.Parse(engine)
	r := &recorder{}
	r.server = httptest.NewServer(&httputil.ReverseProxy{Transport: r,
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) },
		// A failed request is not yet a failed event: a function may abandon a read, and it
		// repeats a request whose response is lost. The event itself fails if the function
		// does not get what it needs.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}})
	return r, err
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	return r.Send(q, http.DefaultTransport)
}
